package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	humans    = 10 // human-N: records of the person at names that no object wants
	zoneTTL   = 300
	othersLB  = "lb-6" // initially has a record of another owner
	personsLB = "lb-7" // initially has a record of the person, who removes it later
	// OtherOwner is the owner ID in the ownership records of an owner other than Signpost.
	OtherOwner = "somebody-else"
)

// ZoneRecords returns the initial zone, as lines of a zone file with names relative to the zone: 20 records
// without an ownership record, and 10 owned by OtherOwner. They fit bindtest.Zone.Records. Two are at names
// that objects want: lb-6 belongs to the other owner, and lb-7 to the person, who removes it later.
func (p Plan) ZoneRecords() string {
	lines := []string{personsLB + " A " + personsAddress}
	for i := range 9 {
		lines = append(lines, fmt.Sprintf("static-%d A 192.0.2.%d", i, i+1))
	}
	for i := range 4 {
		lines = append(lines, fmt.Sprintf("static-%d AAAA 2001:db8:2::%x", i, i+1))
	}
	lines = append(
		lines,
		"alias CNAME static-0",
		"static-0 TXT \"a text without an owner\"",
		"mail MX 10 static-1",
		"mail MX 20 static-2",
		"static-3 TXT \"heritage=something-else,owner=nobody\"",
		"sub TXT \"heritage\"",
	)
	for i := range 10 {
		owned := fmt.Sprint("other-", i)
		if i == 0 {
			owned = othersLB
		}
		lines = append(lines, fmt.Sprintf("%s A 192.0.2.%d", owned, 101+i), fmt.Sprintf(
			"a-%s TXT \"heritage=external-dns,external-dns/owner=%s,external-dns/resource=service/elsewhere/%s\"", owned, OtherOwner, owned,
		))
	}
	return strings.Join(lines, "\n")
}

// personsAddress is the initial address of personsLB.
const personsAddress = "192.0.2.77"

func (s *simulation) beginPerson() {
	held := ZoneEdit{Name: s.absolute(personsLB), Type: "A", New: []string{personsAddress}, TTL: zoneTTL}
	s.records[key(held)] = held
	s.after(s.between(20*time.Second, 70*time.Second), func() { s.release(held) })
}

func (s *simulation) absolute(relative string) string { return relative + "." + s.settings.Zone }

func key(z ZoneEdit) string { return z.Name + " " + z.Type }

func (s *simulation) personActions() []weighted {
	all := []weighted{{9, s.changeHuman}, {2, s.standBeside}, {2, func() { s.take(balancerName(s.rng.IntN(balancers))) }}}
	if s.settings.Seed%3 == 0 {
		all = append(all, weighted{3, s.editPublished})
	}
	return all
}

func (s *simulation) edit(z ZoneEdit) {
	z.TTL = zoneTTL
	s.records[key(z)] = z
	if len(z.New) == 0 {
		delete(s.records, key(z))
	}
	s.emit(Edit{Zone: &z})
}

// changeHuman adds, changes or removes a record set at a name that no object wants.
func (s *simulation) changeHuman() {
	i := s.rng.IntN(humans)
	kind := []string{"A", "A", "AAAA", "TXT", "MX", "CNAME"}[i%6]
	z := ZoneEdit{Name: s.absolute(fmt.Sprint("human-", i)), Type: kind, Require: Unused, New: s.humanValues(kind)}
	if old, there := s.records[key(z)]; there {
		if z.Require, z.Old = Mine, old.New; slices.Equal(z.New, old.New) || s.chance(30) {
			z.New = nil
		}
	}
	s.edit(z)
}

func (s *simulation) humanValues(kind string) []string {
	n := 1 + s.rng.IntN(250)
	switch kind {
	case "A":
		if s.chance(30) {
			return []string{fmt.Sprint("192.0.2.", n), fmt.Sprint("198.18.0.", n)}
		}
		return []string{fmt.Sprint("192.0.2.", n)}
	case "AAAA":
		return []string{fmt.Sprintf("2001:db8:3::%x", n)}
	case "TXT":
		return []string{fmt.Sprintf("%q", fmt.Sprint("human text ", n))}
	case "MX":
		// BIND refuses an MX if its target in the zone has no address.
		return []string{fmt.Sprintf("%d %s", n, s.absolute(fmt.Sprint("static-", n%9)))}
	default:
		return []string{s.absolute(fmt.Sprint("static-", n%9))}
	}
}

// take adds a record at a name that an object wants, if it is unused at that moment, and removes it later.
func (s *simulation) take(relative string) {
	z := ZoneEdit{Name: s.absolute(relative), Type: "A", Require: Unused, New: []string{fmt.Sprint("192.0.2.", 200+s.rng.IntN(50))}}
	if _, there := s.records[key(z)]; there {
		return
	}
	s.edit(z)
	s.after(s.between(4*time.Second, 20*time.Second), func() { s.release(z) })
}

// release removes a record set of the person.
func (s *simulation) release(z ZoneEdit) {
	s.edit(ZoneEdit{Name: z.Name, Type: z.Type, Require: Mine, Old: z.New})
}

// standBeside adds a TXT record at a name of Signpost, beside its addresses, or removes it.
func (s *simulation) standBeside() {
	z := ZoneEdit{Name: s.absolute(balancerName(s.rng.IntN(balancers))), Type: "TXT", Require: Beside, New: []string{`"a note of the person"`}}
	if old, there := s.records[key(z)]; there {
		s.release(old)
		return
	}
	s.edit(z)
}

// editPublished changes addresses that Signpost has published: it replaces them, adds one, or removes them.
func (s *simulation) editPublished() {
	z := ZoneEdit{Name: s.absolute(balancerName(s.rng.IntN(balancers - 2))), Type: "A", Require: Theirs, TTL: zoneTTL}
	if _, there := s.records[key(z)]; there {
		return // the name may be the person's
	}
	if s.chance(70) {
		z.New = []string{fmt.Sprint("192.0.2.", 200+s.rng.IntN(50))}
		z.Keep = s.chance(40)
	}
	s.emit(Edit{Zone: &z})
}
