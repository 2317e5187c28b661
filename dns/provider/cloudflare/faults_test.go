package cloudflare

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
	"github.com/signpostd/signpost/testkit/longtest"
)

var (
	schedules    = flag.Int("cloudflare.schedules", 10, "how many seeded schedules of faults to run")
	scheduleSeed = flag.Uint64("cloudflare.seed", 0, "the first seed")
)

// A publisher runs over a server that throttles, fails before and after a request had its effect, cuts
// connections and shows out-of-date listings, while a person makes and changes records of her own, and the
// process restarts. Nothing of hers is touched, no record is ever without its ownership record, and two
// cycles after the last fault everything is as it should be (spec/clouds.md §0.3, CF12, CF14, CF16).
func TestFaults(t *testing.T) {
	environment(t, "https://api.test/client/v4")
	for seed := *scheduleSeed; seed < *scheduleSeed+uint64(longtest.Rounds(*schedules)); seed++ {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, seed) })
		})
	}
}

// longestLag is how old a listing may be.
const longestLag = 3 * time.Second

// schedule is the state of a test of faults.
type schedule struct {
	*fixture
	random *rand.Rand
	// hooks guards what the hooks read: all that follows.
	hooks  sync.Mutex
	faults *rand.Rand
	// broken is how many of ten requests have a fault.
	broken int
	// persons are the records of the person, by their IDs.
	persons map[string]cloudflaretest.Record
	objects map[string][]*dns.RecordSet
	stop    func()
}

func play(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	s := &schedule{
		fixture: newFixture(t, []string{free, paid, enterprise}[random.IntN(3)]),
		random:  random, faults: rand.New(rand.NewPCG(seed, 2)), persons: map[string]cloudflaretest.Record{}, objects: map[string][]*dns.RecordSet{},
	}
	s.Managed = handled
	s.server.SetRate(0)
	s.server.SetHooks(cloudflaretest.Hooks{Before: s.before, After: s.after})
	if random.IntN(2) == 0 {
		s.server.SetLag(time.Duration(random.Int64N(int64(longestLag))))
	}
	s.restart()
	defer func() { s.stop() }()
	for range 60 {
		s.step()
		time.Sleep(time.Duration(s.random.IntN(15000)) * time.Millisecond)
	}
	s.disturb(0)
	// What was held back because of the last fault takes some seconds; then there are two cycles.
	time.Sleep(2*time.Minute + 40*time.Second)
	s.settled()
	if s.stop(); t.Failed() {
		t.Log(s.log.String())
	}
}

func (s *schedule) disturb(tenths int) {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	s.broken = tenths
}

// fault returns one of some faults, or none.
func (s *schedule) fault(faults ...*cloudflaretest.Fault) *cloudflaretest.Fault {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	if s.faults.IntN(10) >= s.broken {
		return nil
	}
	return faults[s.faults.IntN(len(faults))]
}

func (s *schedule) before(cloudflaretest.Call) *cloudflaretest.Fault {
	return s.fault(cloudflaretest.Failed, cloudflaretest.Lost, nil, cloudflaretest.Throttled(0), cloudflaretest.Throttled(2*time.Second), cloudflaretest.Throttled(45*time.Second))
}

// after looks at what a batch has made, and may lose the answer.
func (s *schedule) after(c cloudflaretest.Call) *cloudflaretest.Fault {
	if c.Operation == cloudflaretest.Batch {
		s.Log.Info("batch made", "deletes", len(c.Changes.Deletes), "patches", len(c.Changes.Patches), "posts", len(c.Changes.Posts))
		s.covered()
	}
	return s.fault(cloudflaretest.Failed, cloudflaretest.Lost, nil, nil)
}

// covered checks that each record has its ownership record, and that those of the person are as she made
// them.
func (s *schedule) covered() {
	rows := s.server.Records(s.zone)
	texts, left := map[string]int{}, map[string]bool{}
	for _, r := range rows {
		if isText(r) {
			texts[r.Name]++
		}
	}
	s.hooks.Lock()
	defer s.hooks.Unlock()
	for _, r := range rows {
		left[r.ID] = true
		hers, ok := s.persons[r.ID]
		switch {
		case ok && line(hers) != line(r):
			s.T.Errorf("%s of the person has become %s", line(hers), line(r))
		case !ok && !isText(r) && texts[strings.ToLower(r.Type)+"-"+r.Name] != 1:
			s.T.Errorf("%s has %d ownership records", line(r), texts[strings.ToLower(r.Type)+"-"+r.Name])
		}
	}
	for id, r := range s.persons {
		if !left[id] {
			s.T.Errorf("%s of the person is gone", line(r))
		}
	}
}

// restart ends the process, if there is one, and starts another one.
func (s *schedule) restart() {
	if s.stop != nil {
		s.stop()
		// It takes a moment until the next one looks at the zone. One that saw what was there before the last batch
		// of this one would take the ownership records of that batch for its own failure (docs/decisions/0011).
		time.Sleep(longestLag)
	}
	s.Provider = s.open()
	s.stop = s.Start()
}

// step makes one random event happen.
func (s *schedule) step() {
	switch n := s.random.IntN(20); {
	case n < 10:
		s.change()
	case n < 13:
		s.disturb(s.random.IntN(8))
	case n < 15:
		s.disturb(0)
	case n < 16:
		if s.mayCrash() {
			s.restart()
		}
	default:
		s.changeExternally()
	}
}

// mayCrash reports whether the process may end: not while the person and the publisher have records of one
// name and type, made in the same moment. The next process can't know which are hers (docs/decisions/0032).
func (s *schedule) mayCrash() bool {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	rows := s.server.Records(s.zone)
	for _, hers := range s.persons {
		if slices.ContainsFunc(rows, func(r cloudflaretest.Record) bool {
			return r.Name == hers.Name && r.Type == hers.Type && r.ID != hers.ID
		}) {
			return false
		}
	}
	return true
}

// change changes what an object asks for.
func (s *schedule) change() {
	object := fmt.Sprint("o", s.random.IntN(6))
	if s.random.IntN(4) == 0 {
		delete(s.objects, object)
	} else {
		name := object + fmt.Sprint(s.random.IntN(2))
		if s.random.IntN(3) == 0 {
			name = fmt.Sprint("shared", object)
		}
		s.objects[object] = s.records(name + "." + zoneName)
	}
	var wanted []*dns.RecordSet
	for _, sets := range s.objects {
		wanted = append(wanted, sets...)
	}
	s.Ask(wanted...)
}

func (s *schedule) records(name string) []*dns.RecordSet {
	n := 1 + s.random.IntN(5)
	ttl := []string{"ttl=60", "ttl=300", "proxied=true"}[s.random.IntN(3)]
	a := want(name, "A", fmt.Sprintf("192.0.2.%d,192.0.2.%d", n, n+1), ttl, fmt.Sprint("record-comment=c", s.random.IntN(3)))
	switch s.random.IntN(6) {
	case 0:
		return []*dns.RecordSet{want(name, "CNAME", fmt.Sprintf("lb%d.example.net", n), ttl)}
	case 1:
		return []*dns.RecordSet{want(name, "MX", fmt.Sprintf("%d mx.example.net", n)), a}
	case 2:
		return []*dns.RecordSet{want(name, "SRV", fmt.Sprintf("%d 1 80 s.example.net.", n))}
	case 3:
		return []*dns.RecordSet{a, want(name, "AAAA", fmt.Sprintf("2001:db8::%d", n))}
	case 4:
		return []*dns.RecordSet{want(name, "TXT", fmt.Sprintf(`"text %d"`, n), "ttl=300")}
	}
	return []*dns.RecordSet{a}
}

// changeExternally lets the other writer make a record under a name that nobody has, or change or delete one of hers.
func (s *schedule) changeExternally() {
	s.hooks.Lock()
	defer s.hooks.Unlock()
	ids := make([]string, 0, len(s.persons))
	for id := range s.persons {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if len(ids) > 0 && s.random.IntN(2) == 0 {
		id := ids[s.random.IntN(len(ids))]
		if s.random.IntN(2) == 0 {
			delete(s.persons, id)
			s.server.Remove(s.zone, id)
			return
		}
		r := s.persons[id]
		r.Content = fmt.Sprintf("203.0.113.%d", s.random.IntN(200))
		s.persons[id] = r
		s.server.Put(s.zone, r)
		return
	}
	name := fmt.Sprintf("sharedo%d.%s", s.random.IntN(6), zoneName)
	if slices.ContainsFunc(s.server.Records(s.zone), func(r cloudflaretest.Record) bool { return strings.HasSuffix(r.Name, name) }) {
		return
	}
	r := cloudflaretest.Record{Name: name, Type: "A", Content: fmt.Sprintf("203.0.113.%d", s.random.IntN(200)), TTL: 300}
	r.ID = s.server.Put(s.zone, r)
	s.Log.Info("the person makes", "record", line(r))
	s.persons[r.ID] = r
}

// settled compares the zone with what is asked for. Under names that the person has records of, there may be
// another type of the publisher's, made when she was a moment faster.
func (s *schedule) settled() {
	s.covered()
	hers := map[string]bool{}
	for _, r := range s.persons {
		hers[r.Name] = true
	}
	m := mapping{limits: freeLimits, warn: func(string, string, ...any) {}}
	var want, got []string
	for _, r := range s.Asked() {
		rows, err := m.wanted(r)
		if err != nil {
			s.T.Fatal(err)
		}
		for _, o := range rows {
			if !hers[r.Name] {
				want = append(want, line(kept(o)), strings.ToLower(r.Type)+"-"+r.Name+" is an ownership record")
			}
		}
	}
	for _, r := range s.server.Records(s.zone) {
		switch {
		case isText(r) && !hers[r.Name[strings.Index(r.Name, "-")+1:]]:
			got = append(got, r.Name+" is an ownership record")
		case !isText(r) && !hers[r.Name]:
			got = append(got, line(r))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		s.T.Errorf("the zone has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// kept returns the record that the server keeps of what is sent.
func kept(o outgoing) cloudflaretest.Record {
	r := cloudflaretest.Record{Name: o.Name, Type: o.Type, Content: o.Content, TTL: o.TTL, Proxied: o.Proxied != nil && *o.Proxied}
	if *o.Comment != "" {
		r.Comment = o.Comment
	}
	if o.Priority != nil {
		priority := float64(*o.Priority)
		r.Priority = &priority
	}
	if o.Data != nil {
		priority := float64(o.Data.Priority)
		r.Priority, r.Content = &priority, fmt.Sprintf("%d %d %s", o.Data.Weight, o.Data.Port, o.Data.Target)
	}
	return r
}
