package publisher

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
)

var (
	faultSchedules = flag.Int("faults.schedules", 1000, "how many seeded schedules of faults to run")
	faultSeed      = flag.Uint64("faults.seed", 0, "the first seed")
)

// Three owners and a human publish in one zone, with the faults of a schedule. Nobody changes
// the records of another one. After each pause, no record of an owner lacks its marker. Two
// cycles after the last fault, everything is as it should be.
func TestFaults(t *testing.T) {
	for seed := *faultSeed; seed < *faultSeed+uint64(*faultSchedules); seed++ {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playFaults(t, seed) })
		})
	}
}

// publishing is an owner in a schedule.
type publishing struct {
	*world
	id     string
	faulty *faulty
	up     bool
}

// schedule is the state of a test of faults.
type schedule struct {
	t      *testing.T
	random *rand.Rand
	owners []*publishing
	truth  *world
	// human has what the human put into the zone.
	human map[string]*dns.RecordSet
}

func playFaults(t *testing.T, seed uint64) {
	s := &schedule{t: t, random: rand.New(rand.NewPCG(seed, 1)), truth: newWorld(t), human: map[string]*dns.RecordSet{}}
	for _, id := range []string{"one", "two", "three"} {
		s.owners = append(s.owners, s.newOwner(id))
	}
	for _, o := range s.owners {
		o.restart()
	}
	for range 60 {
		s.step()
		time.Sleep(time.Duration(s.random.IntN(4000)) * time.Millisecond)
	}
	for _, o := range s.owners {
		o.faulty.heal()
		if !o.up {
			o.restart()
		}
	}
	// Calls that were running at the last fault end, and then there are two cycles. Names that
	// several owners ask for take longer: each owner waits for what the one before leaves.
	time.Sleep(2*DefaultInterval + 5*time.Second)
	s.check(func(name string) bool { return !strings.HasPrefix(name, "shared") })
	time.Sleep(8 * DefaultInterval)
	s.check(func(string) bool { return true })
	for _, o := range s.owners {
		o.stop()
	}
}

func (s *schedule) newOwner(id string) *publishing {
	w := newWorld(s.t)
	w.zones = s.truth.zones
	f := &faulty{Provider: s.truth.zones, random: rand.New(rand.NewPCG(s.random.Uint64(), 2)), t: s.t, id: id, seen: s.truth}
	w.provider = f
	w.change = func(c *Config) {
		o, err := owner.NewTXT(owner.TXTOptions{OwnerID: id, Prefix: "own-"})
		if err != nil {
			s.t.Fatal(err)
		}
		c.Owner, c.Name = o, id
		c.Rules = plan.Rules{Policy: plan.Sync, Owner: id, Managed: plan.DefaultManaged()}
		c.Budget = Budget{Records: 1000, Percent: 100, Window: time.Minute}
	}
	return &publishing{world: w, id: id, faulty: f}
}

func (o *publishing) restart() {
	o.t.Logf("%v restart %s", time.Now(), o.id)
	if o.up {
		o.stop()
	}
	o.up = true
	o.start()
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
		o.faulty.heal()
	case n < 16 && o.faulty.mayCrash():
		o.restart()
	case n < 17:
		if o.up && o.faulty.mayCrash() {
			o.stop()
			o.up = false
		}
	default:
		s.meddle()
	}
}

// ask changes what the objects of an owner ask for.
func (s *schedule) ask(o *publishing) {
	object := fmt.Sprint("o", s.random.IntN(8))
	if s.random.IntN(4) == 0 {
		o.objects.set(object)
		return
	}
	var records []*dns.RecordSet
	name := s.name(object, o)
	address := fmt.Sprintf("192.0.2.%d", 1+s.random.IntN(5))
	switch s.random.IntN(4) {
	case 0:
		records = append(records, record(s.t, object, name, "CNAME", "target.example"))
	case 1:
		records = append(records, record(s.t, object, name, "A", address), record(s.t, object, name, "AAAA", "2001:db8::1"))
	default:
		records = append(records, record(s.t, object, name, "A", address))
	}
	o.objects.set(object, records...)
}

// name returns the name that an object asks for: each its own, and some that the owners
// contend for.
func (s *schedule) name(object string, o *publishing) string {
	if s.random.IntN(3) == 0 {
		return fmt.Sprintf("shared%d.%s", s.random.IntN(3), zoneName)
	}
	return fmt.Sprintf("%s-%s%d.%s", o.id, object, s.random.IntN(2), zoneName)
}

// meddle has the human add, change or remove a record of theirs, or remove one of an owner.
func (s *schedule) meddle() {
	name := fmt.Sprintf("shared%d.%s", s.random.IntN(4), zoneName)
	there := s.truth.zones
	zone := dns.Zone{ID: zoneName, Name: zoneName}
	records, err := there.Records(s.t.Context(), zone)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { s.t.Logf("%v human: %s now %v", time.Now(), name, s.human[name]) }()
	i := slices.IndexFunc(records, func(r *dns.RecordSet) bool { return r.Name == name && r.Type != dns.TypeTXT })
	switch {
	case i < 0 && s.human[name] == nil:
		r := record(s.t, "", name, "A", "203.0.113.1")
		r.Labels = nil
		// If there is a marker already, the record would belong to its owner.
		if slices.ContainsFunc(records, func(r *dns.RecordSet) bool { return r.Type == dns.TypeTXT && strings.HasSuffix(r.Name, "-"+name) }) {
			return
		}
		if there.Apply(s.t.Context(), zone, []dns.Change{{New: r}}) == nil {
			s.human[name] = r
		}
	case i >= 0 && s.human[name] != nil:
		if there.Apply(s.t.Context(), zone, []dns.Change{{Old: records[i]}}) == nil {
			delete(s.human, name)
		}
	case i >= 0:
		// The record of an owner is removed, but not its marker.
		_ = there.Apply(s.t.Context(), zone, []dns.Change{{Old: records[i]}})
	}
}

// check compares the zone with what everybody asks for, while nothing happens.
func (s *schedule) check(concerns func(name string) bool) {
	got := map[string][]*dns.RecordSet{}
	for _, r := range s.truth.listing() {
		got[r.Name] = append(got[r.Name], r)
	}
	owners := map[string]string{}
	for name, records := range got {
		for _, r := range records {
			if r.Type != dns.TypeTXT {
				owners[name+" "+r.Type] = markerOwner(got, r)
			}
		}
	}
	for name, r := range s.human {
		if !slices.ContainsFunc(got[name], func(g *dns.RecordSet) bool { return g.Type == r.Type && dns.SameTargets(g.Targets, r.Targets) }) {
			s.t.Errorf("the human's %s is gone or changed: %v", name, got[name])
		}
	}
	wanted := map[string][]string{}
	for _, o := range s.owners {
		s.checkOwner(o, got, owners, wanted, concerns)
	}
	for key, id := range owners {
		name, _, _ := strings.Cut(key, " ")
		switch {
		case !concerns(name):
		case id == "" && s.human[name] == nil:
			s.t.Errorf("%s is nobody's", key)
		case id != "" && !slices.Contains(wanted[key], id):
			s.t.Errorf("%s belongs to %s, who doesn't ask for it", key, id)
		}
	}
	for name, records := range got {
		for _, r := range records {
			if r.Type == dns.TypeTXT && !strings.HasPrefix(name, "own-") {
				s.t.Errorf("unexpected TXT %s", name)
			}
			if r.Type == dns.TypeTXT && len(r.Targets) != 1 {
				s.t.Errorf("marker %s has the texts %q", name, r.Targets)
			}
		}
	}
}

// checkOwner checks that the zone has everything that an owner asks for, unless somebody else
// has the name.
func (s *schedule) checkOwner(o *publishing, got map[string][]*dns.RecordSet, owners map[string]string, wanted map[string][]string, concerns func(string) bool) {
	byName := map[string][]*dns.RecordSet{}
	for name := range o.publisher.Desired.Names() {
		byName[name] = o.publisher.Desired.Want(name)
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		taken := false
		for _, r := range got[name] {
			if id := owners[name+" "+r.Type]; r.Type != dns.TypeTXT && id != o.id {
				taken = true
			}
		}
		for _, m := range []string{"a", "aaaa", "cname"} {
			if id := textOwner(got["own-"+m+"-"+name]); id != "" && id != o.id {
				taken = true
			}
		}
		out := plan.Name(nil, byName[name], &o.publisher.Rules)
		for _, c := range out.Changes {
			wanted[name+" "+c.New.Type] = append(wanted[name+" "+c.New.Type], o.id)
			there := slices.ContainsFunc(got[name], func(g *dns.RecordSet) bool {
				return g.Type == c.New.Type && dns.SameTargets(g.Targets, c.New.Targets) && owners[name+" "+g.Type] == o.id
			})
			if !there && !taken && concerns(name) {
				s.t.Errorf("%s asks for %s, which isn't there: %v", o.id, line(c.New), describeAll(got[name]))
			}
		}
	}
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

// markerOwner returns who owns a record set by its marker.
func markerOwner(zone map[string][]*dns.RecordSet, r *dns.RecordSet) string {
	return textOwner(zone["own-"+strings.ToLower(r.Type)+"-"+r.Name])
}

func textOwner(records []*dns.RecordSet) string {
	for _, r := range records {
		if _, after, ok := strings.Cut(r.Targets[0], "external-dns/owner="); ok {
			id, _, _ := strings.Cut(after, ",")
			return strings.Trim(id, `"`)
		}
	}
	return ""
}
