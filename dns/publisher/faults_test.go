package publisher

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/longtest"
)

var (
	faultSchedules = flag.Int("faults.schedules", 100, "how many seeded schedules of faults to run")
	faultSeed      = flag.Uint64("faults.seed", 0, "the first seed")
)

// Three owners and a person publish in one or two zones, with random faults of the provider, which
// may adjust record sets, and of the registry. Nobody changes the records of another owner. After
// each pause, each record of an owner has its ownership record or its claim. Two cycles after the
// last fault, the zones have exactly the wanted records.
func TestFaults(t *testing.T) {
	for seed := *faultSeed; seed < *faultSeed+uint64(longtest.Rounds(*faultSchedules)); seed++ {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playFaults(t, seed) })
		})
	}
}

// faultTypes are the types of records that the objects of a schedule ask for.
var faultTypes = []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeMX, dns.TypeSRV, dns.TypeNS}

func managedInFaults(recordType string) bool { return slices.Contains(faultTypes, recordType) }

// faultZones are the zones that a schedule can have: one, one with its child, or two.
var faultZones = [][]string{{zoneName}, {zoneName, "sub." + zoneName}, {zoneName, "other.test"}}

// publishing is an owner in a schedule.
type publishing struct {
	*fixture
	id     string
	faulty *faulty
	owner  owner.Owner
	up     bool
}

// schedule is the state of a test of faults.
type schedule struct {
	t       *testing.T
	random  *rand.Rand
	zones   []string
	adjusts bool
	// byTarget is true if the provider writes the targets of a record set one by one.
	byTarget  bool
	ownership ownership
	// claims has what each owner claimed when the schedule was looked at last.
	claims map[string]map[dns.Key]*claims.Claim
	owners []*publishing
	truth  *truth
}

func playFaults(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	kind := kinds[random.IntN(len(kinds))]
	s := &schedule{
		t: t, random: random, zones: faultZones[random.IntN(len(faultZones))], adjusts: random.IntN(2) == 0, byTarget: seed%2 == 1,
	}
	s.ownership = newOwnership(t, kind)
	t.Logf("zones %v, registry %s, adjusts %v, by target %v", s.zones, kind, s.adjusts, s.byTarget)
	s.truth = newTruth(t, s.zones...)
	for _, id := range []string{"one", "two", "three"} {
		s.owners = append(s.owners, s.newOwner(id))
	}
	for _, o := range s.owners {
		o.restart()
	}
	for range 60 {
		s.step()
		time.Sleep(time.Duration(s.random.IntN(4000)) * time.Millisecond)
		s.covered()
	}
	s.settle()
	for _, o := range s.owners {
		o.stop()
	}
}

// settle ends all faults, and checks that the zones get the wanted records.
func (s *schedule) settle() {
	for _, o := range s.owners {
		o.faulty.endFaults()
		if !o.up {
			o.restart()
		}
	}
	// Running calls and throttling end first, and two cycles follow. Names that several owners ask for
	// take longer, because each owner waits until the former one has removed its records.
	time.Sleep(2*DefaultInterval + 25*time.Second)
	s.check(func(name string) bool { return !strings.HasPrefix(name, "shared") })
	time.Sleep(8 * DefaultInterval)
	s.check(func(string) bool { return true })
	s.checkLeft()
}

func (s *schedule) newOwner(id string) *publishing {
	w := newFixture(s.t)
	o := &publishing{fixture: w, id: id, faulty: newFaulty(s.t, s.truth, id, s.random.Uint64())}
	o.faulty.byTarget = s.byTarget
	w.provider = o.faulty
	if s.adjusts {
		w.provider = adjusting{o.faulty}
	}
	w.change = func(c *Config) {
		var err error
		if o.owner, err = s.ownership.open(id, o.faulty); err != nil {
			s.t.Fatal(err)
		}
		c.Owner, c.Name = o.owner, id
		c.Rules = plan.Rules{Policy: plan.Sync, Owner: id, Managed: faultTypes}
		c.Budget = budget.Limits{Deletions: budget.Limit{Percent: 100}, SettingsUpdates: budget.Limit{Percent: 100}, ObjectUpdates: budget.Limit{Percent: 100}, Window: time.Minute}
		if !testing.Verbose() {
			c.Log = slog.New(slog.DiscardHandler)
		}
	}
	return o
}

func (o *publishing) restart() {
	o.t.Logf("%v restart %s", time.Now(), o.id)
	o.end()
	o.up = true
	o.start()
}

func (o *publishing) end() {
	if o.up {
		o.stop()
		o.faulty.restarted()
	}
	o.up = false
}

// step makes one random event happen.
func (s *schedule) step() {
	o := s.owners[s.random.IntN(len(s.owners))]
	switch n := s.random.IntN(20); {
	case n < 10:
		s.ask(o)
	case n < 13:
		o.faulty.disturb(s.random.IntN(10))
	case n < 14:
		o.faulty.endFaults()
	case n < 16 && s.mayCrash(o):
		o.restart()
	case n < 17:
		if s.mayCrash(o) {
			o.end()
		}
	default:
		s.changeByHand()
	}
}

// ask changes what the objects of an owner ask for.
func (s *schedule) ask(o *publishing) {
	object := fmt.Sprint("o", s.random.IntN(8))
	if s.random.IntN(4) == 0 {
		o.objects.set(object)
		return
	}
	name := s.name(object, o)
	first := faultTypes[s.random.IntN(len(faultTypes))]
	records := []*dns.RecordSet{s.record(object, name, first)}
	if second := faultTypes[s.random.IntN(len(faultTypes))]; second != first && first != dns.TypeCNAME && second != dns.TypeCNAME {
		records = append(records, s.record(object, name, second))
	}
	o.objects.set(object, records...)
}

// record returns a record set with one of several targets, or with several addresses.
func (s *schedule) record(object, name, recordType string) *dns.RecordSet {
	n := 1 + s.random.IntN(4)
	targets := map[string]string{
		dns.TypeA: "192.0.2.%d", dns.TypeAAAA: "2001:db8::%d", dns.TypeCNAME: "target%d.example", dns.TypeTXT: `"text %d"`,
		dns.TypeMX: "%d mail.example", dns.TypeSRV: "10 %d 443 server.example.", dns.TypeNS: "ns%d.example",
	}
	list := []string{fmt.Sprintf(targets[recordType], n)}
	if s.byTarget && recordType == dns.TypeA {
		for more := range s.random.IntN(3) {
			list = append(list, fmt.Sprintf("192.0.2.%d", n+10*(1+more)))
		}
	}
	return record(s.t, object, name, recordType, list...)
}

// name returns the name that an object asks for: each its own, some that the owners contend for,
// and some that an adjusting provider refuses.
func (s *schedule) name(object string, o *publishing) string {
	zone := s.zones[s.random.IntN(len(s.zones))]
	switch s.random.IntN(7) {
	case 0, 1:
		return fmt.Sprintf("shared%d.%s", s.random.IntN(3), zone)
	case 2:
		return fmt.Sprintf("unfit-%s-%s.%s", o.id, object, zone)
	default:
		return fmt.Sprintf("%s-%s%d.%s", o.id, object, s.random.IntN(2), zone)
	}
}

// changeByHand has the person make, change or remove a record of theirs, or change or remove one of an
// owner.
func (s *schedule) changeByHand() {
	zone := s.zones[s.random.IntN(len(s.zones))]
	name := fmt.Sprintf("shared%d.%s", s.random.IntN(4), zone)
	records := s.look()
	i := slices.IndexFunc(records[name], func(r *dns.RecordSet) bool { return !isOwnershipRecord(r) })
	if i < 0 {
		s.make(records, zone, name)
		return
	}
	old := records[name][i]
	c := dns.Change{Old: old}
	if old.Type == dns.TypeA && s.random.IntN(3) == 0 {
		c.New = &dns.RecordSet{Name: name, Type: dns.TypeA, Targets: []string{fmt.Sprintf("203.0.113.%d", 2+s.random.IntN(5))}, TTL: 300}
	}
	s.byHand(zone, c)
}

// make has the person make a record, unless an owner would take it for its own because it hasn't
// noticed yet that the record there is gone.
func (s *schedule) make(records map[string][]*dns.RecordSet, zone, name string) {
	r := &dns.RecordSet{Name: name, Type: dns.TypeA, Targets: []string{"203.0.113.1"}, TTL: 300}
	for _, o := range s.owners {
		lookup := func(name string) []*dns.RecordSet { return records[name] }
		labels, _ := o.owner.Labels(lookup, r)
		if o.up && labels[dns.LabelOwner] == o.id || s.claimed(o.id, r.Key()) {
			return
		}
	}
	s.byHand(zone, dns.Change{New: r})
}

func (s *schedule) byHand(zone string, c dns.Change) {
	err := s.truth.apply(person, dns.Zone{ID: zone, Name: zone}, []dns.Change{c})
	s.t.Logf("%v by hand: %s: %v", time.Now(), describe(c), err)
}

// covered checks that each record of an owner has its ownership record or its claim. What the person has
// edited while its owner didn't know what was made there is the person's by now.
func (s *schedule) covered() {
	synctest.Wait()
	records := s.look()
	for _, list := range records {
		for _, r := range list {
			id := s.truth.maker(r.Key())
			if id == person || isOwnershipRecord(r) || s.covers(id, r) || s.knows(records, id, r) {
				continue
			}
			if !s.truth.giveUp(r) {
				s.t.Errorf("%s has made %s, but doesn't claim it", id, line(r))
			}
		}
	}
}

// knows reports whether a process knows of an edited record set that it is its own, although it
// couldn't write that down yet.
func (s *schedule) knows(records map[string][]*dns.RecordSet, id string, r *dns.RecordSet) bool {
	i := slices.IndexFunc(s.owners, func(o *publishing) bool { return o.id == id })
	labels, _ := s.owners[i].owner.Labels(func(name string) []*dns.RecordSet { return records[name] }, r)
	return s.owners[i].up && s.truth.isEdited(r.Key()) && labels[dns.LabelOwner] == id
}

// check compares the zones with what everybody asks for, while nothing happens.
func (s *schedule) check(concerns func(name string) bool) {
	s.covered()
	got := s.look()
	for key, r := range s.truth.ofPerson() {
		if !slices.ContainsFunc(got[key.Name], func(g *dns.RecordSet) bool { return g.Key() == key && dns.SameTargets(g.Targets, r.Targets) }) {
			s.t.Errorf("the person's %s is gone or changed: %v", line(r), describeAll(got[key.Name]))
		}
	}
	wanted := map[dns.Key][]string{}
	for _, o := range s.owners {
		s.checkWanted(o, got, wanted, concerns)
	}
	for _, records := range got {
		for _, r := range records {
			id := s.truth.maker(r.Key())
			switch {
			case isOwnershipRecord(r) && len(r.Targets) != 1:
				s.t.Errorf("ownership record %s has the texts %q", r.Name, r.Targets)
			case id != person && !isOwnershipRecord(r) && concerns(r.Name) && !slices.Contains(wanted[r.Key()], id):
				s.t.Errorf("%s is of %s, who doesn't ask for it", line(r), id)
			}
		}
	}
}

// checkLeft checks that nobody claims what they haven't made.
func (s *schedule) checkLeft() {
	s.look()
	for _, o := range s.owners {
		for _, key := range s.left(o.id) {
			if !s.truth.mayClaim(o.id, key) {
				s.t.Errorf("%s claims %v, which it hasn't made", o.id, key)
			}
		}
	}
}

// mayCrash reports whether a process may end now: not while there is an ownership record of its own
// for a record that somebody else has made. The next process couldn't know that the record isn't
// its own (docs/decisions/0011).
func (s *schedule) mayCrash(o *publishing) bool {
	s.look()
	for key := range s.truth.others(o.id) {
		if s.claimed(o.id, key) {
			return false
		}
	}
	return true
}

// checkWanted checks that the zones have everything that an owner asks for, unless somebody else
// has the name.
func (s *schedule) checkWanted(o *publishing, got map[string][]*dns.RecordSet, wanted map[dns.Key][]string, concerns func(string) bool) {
	byName := map[string][]*dns.RecordSet{}
	for name := range o.publisher.Desired.Names() {
		if !s.adjusts || !unfit(name) {
			byName[name] = o.publisher.Desired.Want(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		ours := func(r *dns.RecordSet) bool { return s.truth.maker(r.Key()) == o.id }
		if i := slices.IndexFunc(got[name], func(g *dns.RecordSet) bool { return ours(g) && isCandidate(g, byName[name]) }); i >= 0 {
			wanted[got[name][i].Key()] = append(wanted[got[name][i].Key()], o.id)
			continue
		}
		taken := s.taken(o, got, name)
		for _, c := range plan.Name(nil, candidates(byName[name]...), &o.publisher.Rules).Changes {
			wanted[c.New.Key()] = append(wanted[c.New.Key()], o.id)
			there := slices.ContainsFunc(got[name], func(g *dns.RecordSet) bool {
				return g.Key() == c.New.Key() && ours(g) && dns.SameTargets(g.Targets, c.New.Targets)
			})
			if !there && !taken && concerns(name) {
				s.t.Errorf("%s asks for %s, which isn't there: %v", o.id, line(c.New), describeAll(got[name]))
			}
		}
	}
}

// isCandidate reports whether a CNAME is one of those that objects ask for. The one that is there
// stays, also if other objects ask for other types.
func isCandidate(r *dns.RecordSet, wanted []*dns.RecordSet) bool {
	return r.Type == dns.TypeCNAME && slices.ContainsFunc(wanted, func(w *dns.RecordSet) bool {
		return w.Type == r.Type && dns.SameTargets(w.Targets, r.Targets)
	})
}

// taken reports whether somebody else has, or claims, something under a name.
func (s *schedule) taken(o *publishing, got map[string][]*dns.RecordSet, name string) bool {
	for _, r := range got[name] {
		if s.truth.maker(r.Key()) != o.id {
			return true
		}
	}
	for _, other := range s.owners {
		if other != o && slices.ContainsFunc(s.left(other.id), func(key dns.Key) bool { return key.Name == name }) {
			return true
		}
	}
	return false
}

func describeChanges(changes []dns.Change) (lines []string) {
	for _, c := range changes {
		lines = append(lines, describe(c))
	}
	return lines
}

func describeAll(records []*dns.RecordSet) (lines []string) {
	for _, r := range records {
		lines = append(lines, line(r))
	}
	return lines
}

var _ provider.Adjuster = adjusting{}
