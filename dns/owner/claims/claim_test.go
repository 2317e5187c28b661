package claims

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
)

func set(target string) *dns.RecordSet {
	return &dns.RecordSet{Name: "www.shop.test", Type: dns.TypeA, Targets: []string{target}, TTL: 300}
}

func TestPrint(t *testing.T) {
	a := func(recordType string, targets ...string) Print {
		return PrintOf(&dns.RecordSet{Type: recordType, Targets: targets})
	}
	for _, c := range []struct {
		name     string
		one, two Print
		same     bool
	}{
		{"the order", a("A", "192.0.2.1", "192.0.2.2"), a("A", "192.0.2.2", "192.0.2.1"), true},
		{"other targets", a("A", "192.0.2.1"), a("A", "192.0.2.2"), false},
		{"fewer targets", a("A", "192.0.2.1", "192.0.2.2"), a("A", "192.0.2.1"), false},
		{"the case of a name", a("CNAME", "A.example"), a("CNAME", "a.example"), true},
		{"the case of a text", a("TXT", `"A"`), a("TXT", `"a"`), false},
		{"the spelling of an address", a("AAAA", "2001:DB8:0::1"), a("AAAA", "2001:db8::1"), true},
		{"where one target ends", a("TXT", "ab", "c"), a("TXT", "a", "bc"), false},
	} {
		if got := c.one == c.two; got != c.same {
			t.Errorf("%s: same print %t, want %t", c.name, got, c.same)
		}
	}
	if n := len(a("A", "192.0.2.1")); n != 32 {
		t.Errorf("a print has %d letters, want 32", n)
	}
}

// What each claim says of what the zone has, listing by listing (D3).
func TestObserve(t *testing.T) {
	ours, edited := set("192.0.2.1"), set("203.0.113.1")
	confirmed := (&Claim{}).confirm(ours)
	unknown := &Claim{Key: ours.Key(), State: Confirmed, Progress: Done}
	intended := (*Claim)(nil).intend(dns.Change{New: ours}, nil, false)
	for _, c := range []struct {
		name  string
		claim *Claim
		// zone is what the listings have, and want whether that is ours after each: yes, no, or
		// gone when there is no claim any more.
		zone []*dns.RecordSet
		want []string
	}{
		{"confirmed, and there", confirmed, []*dns.RecordSet{ours, ours, ours}, []string{"yes", "yes", "yes"}},
		{"confirmed, and edited", confirmed, []*dns.RecordSet{edited, edited, ours}, []string{"yes", "yes", "yes"}},
		{"confirmed, and listed late", confirmed, []*dns.RecordSet{nil, ours, nil, ours}, []string{"no", "yes", "no", "yes"}},
		{"confirmed, gone, and somebody else's", confirmed, []*dns.RecordSet{nil, edited, edited}, []string{"no", "gone", "gone"}},
		{"confirmed, and gone", confirmed, []*dns.RecordSet{nil, nil, ours}, []string{"no", "gone", "gone"}},
		{"of ExternalDNS, and there", unknown, []*dns.RecordSet{edited, edited}, []string{"yes", "yes"}},
		{"of ExternalDNS, seen, and listed late", unknown, []*dns.RecordSet{ours, nil, ours}, []string{"yes", "no", "yes"}},
		{"of ExternalDNS, and never there", unknown, []*dns.RecordSet{nil, edited, edited}, []string{"no", "gone", "gone"}},
		{"intended, and made", intended, []*dns.RecordSet{ours, edited}, []string{"yes", "yes"}},
		{"intended, and made late", intended, []*dns.RecordSet{nil, ours}, []string{"no", "yes"}},
		{"intended, and somebody was faster", intended, []*dns.RecordSet{edited, edited, ours}, []string{"no", "gone", "gone"}},
		{"intended, and never made", intended, []*dns.RecordSet{nil, nil, ours}, []string{"no", "gone", "gone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			claim := c.claim
			for _, r := range c.zone {
				if r != nil && !claim.Owns(r) {
					r = nil
				}
				if claim != nil {
					claim = claim.observe(r)
				}
				switch {
				case claim == nil:
					got = append(got, "gone")
				case r != nil && claim.Owns(r):
					got = append(got, "yes")
				default:
					got = append(got, "no")
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("ours: %v, want %v", got, c.want)
			}
		})
	}
}

// An open outcome leaves what there was and what was going to be, up to a limit.
func TestOpenOutcomes(t *testing.T) {
	c := (*Claim)(nil).intend(dns.Change{New: set("192.0.2.1")}, nil, false).leaveOpen(dns.Change{New: set("192.0.2.1")}, "lost", false)
	for i := range 10 {
		c = c.intend(dns.Change{New: set(fmt.Sprintf("192.0.2.%d", i+2))}, nil, false)
	}
	if len(c.Prints) != maxPrints || !c.Owns(set("192.0.2.11")) || c.Owns(set("192.0.2.1")) {
		t.Errorf("%d prints, want the last %d", len(c.Prints), maxPrints)
	}
	c = (&Claim{}).confirm(set("192.0.2.1")).leaveOpen(dns.Change{Old: set("192.0.2.1"), New: set("192.0.2.2")}, "lost", false)
	if !c.Owns(set("192.0.2.1")) || !c.Owns(set("192.0.2.2")) || c.Owns(set("192.0.2.3")) {
		t.Errorf("an open update owns %v", c.Prints)
	}
	// An update that follows from a late listing.
	c = (&Claim{}).confirm(set("192.0.2.2")).observe(set("192.0.2.1"))
	late := dns.Change{Old: set("192.0.2.1"), New: set("192.0.2.3")}
	if c = c.intend(late, nil, false).leaveOpen(late, "lost", false); !c.Owns(set("192.0.2.2")) {
		t.Errorf("an open update after a late listing owns %v", c.Prints)
	}
}

// With a provider that writes by target, a record set of which only some targets were written or
// deleted is ours. One with any other target isn't, nor one in part with a provider that writes
// record sets whole, or by a claim that was stored without the prints of each target.
func TestClaimOfRecordSetMadeInPart(t *testing.T) {
	three, two := set("192.0.2.1"), set("192.0.2.4")
	three.Targets, two.Targets = []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, []string{"192.0.2.3", "192.0.2.4"}
	created := func(byTarget bool) *Claim { return (*Claim)(nil).intend(dns.Change{New: three}, nil, byTarget) }
	update := dns.Change{Old: three, New: two}
	updated := (&Claim{}).confirm(three).intend(update, nil, true).leaveOpen(update, "lost", true)
	deletion := dns.Change{Old: three}
	// Single targets are asked for after a change of three whose outcome is unknown.
	smaller := created(true)
	for i := range maxPrints {
		smaller = smaller.intend(dns.Change{New: set(fmt.Sprintf("198.51.100.%d", i))}, nil, true)
	}
	for name, test := range map[string]struct {
		claim    *Claim
		byTarget bool
		there    []string
		ours     bool
	}{
		"one target":                {created(true), true, []string{"192.0.2.2"}, true},
		"all targets":               {created(true), true, []string{"192.0.2.3", "192.0.2.2", "192.0.2.1"}, true},
		"another target":            {created(true), true, []string{"203.0.113.1"}, false},
		"one of ours, and another":  {created(true), true, []string{"192.0.2.1", "203.0.113.1"}, false},
		"no target":                 {created(true), true, nil, false},
		"half an update":            {updated, true, []string{"192.0.2.1", "192.0.2.4"}, true},
		"part of an earlier change": {smaller, true, []string{"192.0.2.1"}, true},
		"half a deletion":           {(&Claim{}).confirm(three).leaveOpen(deletion, "lost", true), true, []string{"192.0.2.2"}, true},
		"whole record sets":         {created(false), false, []string{"192.0.2.2"}, false},
		"a whole one":               {created(true), false, three.Targets, true},
		"a claim without them":      {created(false), true, []string{"192.0.2.2"}, false},
		"refuted":                   {(*Claim)(nil).refute(dns.Change{New: three}, nil, "never"), true, []string{"192.0.2.2"}, false},
	} {
		there, o := *three, &Owner{Options: Options{ByTarget: test.byTarget}}
		if there.Targets = test.there; o.owns(test.claim, &there) != test.ours {
			t.Errorf("%s: ours %t, want %t", name, !test.ours, test.ours)
		}
	}
	many := set("192.0.2.1")
	for i := range maxTargets {
		many.Targets = append(many.Targets, fmt.Sprintf("198.51.100.%d", i))
	}
	if n := len(printsOf(many, true)); n != 1 {
		t.Errorf("%d prints of %d targets, want the one of all", n, len(many.Targets))
	}
}

// memory is a store in memory that fails at random.
type memory struct {
	random *rand.Rand
	broken bool
	claims map[dns.Key]*Claim
}

func (m *memory) Read(context.Context, Reading) (map[dns.Key]*Claim, bool, error) {
	read := map[dns.Key]*Claim{}
	for key, c := range m.claims {
		read[key] = persistent(c)
	}
	return read, true, nil
}

// persistent returns what a store keeps of a claim at least.
func persistent(c *Claim) *Claim {
	if c == nil || c.State == Refuted {
		return nil
	}
	return &Claim{Key: c.Key, Labels: c.Labels, State: c.State, Prints: c.Prints, Progress: Done, Handle: 1}
}

func (m *memory) Write(_ context.Context, writes []Write) []Result {
	results := make([]Result, len(writes))
	for i, w := range writes {
		switch kind := m.random.IntN(4); {
		case m.broken && kind == 0:
			results[i].Err = errLost
			continue
		case m.broken && kind == 1:
			results[i].Err = errLost
		}
		if c := persistent(w.Claim); c == nil {
			delete(m.claims, w.Key())
		} else {
			m.claims[w.Key()] = c
			results[i].Stored = c
		}
	}
	return results
}

var errLost = errors.New("connection lost")

// A model of one name. Processes of one owner create, change and delete a record, with faults at
// the provider and at the store, and crashes; a person makes a record, when there is none. At no
// time does the owner call the person's record its own, unless it has what the owner was going to
// write. Three listings after the last fault, the owner's own record is its own (D3).
func TestModel(t *testing.T) {
	for seed := range uint64(3000) {
		m := &model{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 3)), store: &memory{claims: map[dns.Key]*Claim{}}}
		m.store.random = m.random
		m.restart()
		for range 40 {
			m.step()
		}
		m.store.broken = false
		for range 4 {
			m.list()
		}
		if c := m.store.claims[set("").Key()]; m.zone == nil && c != nil {
			t.Errorf("seed %d: a claim is left without a record: %+v", seed, c)
		}
		if m.zone != nil && !m.persons && !m.ours() {
			t.Errorf("seed %d: our record is nobody's", seed)
		}
		if t.Failed() {
			return
		}
	}
}

type model struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	store  *memory
	owner  *Owner
	// zone is what the zone has, and persons whether a person has made it; listed is what the
	// owner knows.
	zone, listed *dns.RecordSet
	persons      bool
	next         int
}

func (m *model) restart() {
	m.owner = New(Options{Store: m.store, ID: "me"})
	m.list()
}

func (m *model) list() {
	if err := m.owner.Load(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	m.listed = m.zone
	l := owner.Listing{Zone: "shop.test", ZoneOf: func(string) string { return "shop.test" }}
	if m.zone != nil {
		l.Records = append(l.Records, m.zone)
	}
	m.owner.Listed(m.t.Context(), l)
	if m.listed != nil && m.persons && m.ours() {
		m.t.Errorf("seed %d: the person's record is ours", m.seed)
	}
}

func (m *model) ours() bool {
	labels, _ := m.owner.Labels(nil, m.listed)
	return labels[dns.LabelOwner] == "me"
}

// claimed reports whether the store has a confirmed claim. Then a record that a person makes before
// the next listing is taken for ours, edited.
func (m *model) claimed() bool {
	for _, c := range []*Claim{m.store.claims[set("").Key()], m.owner.claim(set("").Key())} {
		if c != nil && c.State == Confirmed {
			return true
		}
	}
	return false
}

func (m *model) step() {
	switch n := m.random.IntN(12); {
	case n < 6:
		m.change()
	case n == 6:
		m.restart()
	case n == 7:
		m.store.broken = !m.store.broken
	case n == 8 && m.zone == nil && !m.claimed():
		m.zone, m.persons = set("203.0.113.1"), true
	case n == 9 && m.persons:
		m.zone, m.persons = nil, false
	default:
		m.list()
	}
}

// change has the owner create, change or delete the record.
func (m *model) change() {
	m.next++
	wanted := set(fmt.Sprintf("192.0.2.%d", m.next))
	c := dns.Change{New: wanted}
	switch {
	case m.listed != nil && !m.ours():
		return
	case m.listed != nil && m.random.IntN(2) == 0:
		c = dns.Change{Old: m.listed}
	case m.listed != nil:
		c.Old = m.listed
	}
	send, _, err := m.owner.Before(m.t.Context(), nil, []dns.Change{c})
	if err != nil || len(send) == 0 {
		m.list()
		return
	}
	err = m.apply(c)
	switch {
	case m.random.IntN(6) == 0:
		m.restart() // it crashes
	case err != nil:
		m.owner.Failed(m.t.Context(), send, err)
		m.list()
	default:
		_ = m.owner.After(m.t.Context(), send) // the store may be broken
		m.listed = m.zone
	}
}

// apply is the provider.
func (m *model) apply(c dns.Change) error {
	if m.zone != c.Old {
		return provider.ErrStale
	}
	kind := m.random.IntN(8)
	if kind == 0 {
		return provider.ErrRejected
	}
	if kind == 1 {
		return errLost
	}
	m.zone, m.persons = c.New, false
	if kind == 2 {
		return errLost
	}
	return nil
}
