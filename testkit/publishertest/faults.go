package publishertest

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/longtest"
)

var (
	schedules = flag.Int("schedules", 0, "how many seeded schedules of faults to run; zero is for the default of the test")
	firstSeed = flag.Uint64("seed", 0, "the first seed")
)

// Schedules runs a test for each of some seeds, in a bubble. Flags may ask for other seeds.
func Schedules(t *testing.T, usual int, play func(t *testing.T, seed uint64)) {
	n := *schedules
	if n == 0 {
		n = longtest.Rounds(usual)
	}
	for seed := *firstSeed; seed < *firstSeed+uint64(n); seed++ {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, seed) })
		})
	}
}

// Cloud is a publisher over a service whose requests fail.
type Cloud struct {
	*Fixture
	// Zones are the names of empty zones.
	Zones []string
	// Sets returns the present content of the zones, even if listings lag.
	Sets func() []*dns.RecordSet
	// Put creates or replaces a record set as another writer would, and Remove deletes it.
	Put, Remove func(*dns.RecordSet)
	// Taken reports whether a name has something that Sets doesn't show. It may be nil.
	Taken func(name string) bool
	// MostLag is the longest lag of listings. It may be zero.
	MostLag time.Duration
	// Records returns record sets of a name that objects may ask for; nil is for addresses and
	// aliases. n returns a random number below another one.
	Records func(name string, n func(below int) int) []*dns.RecordSet
	// Recovery is how long the provider may wait after the last fault, beyond two intervals; zero is
	// for 75 s.
	Recovery time.Duration
}

// Schedule is a run of a publisher with faults: objects and another writer change the zones, while
// requests fail, listings lag, and processes end. At all times the other writer's records must stay
// unchanged, and each record of ours must have its ownership record. Two intervals after the last
// fault the zones must have the wanted records, and another process must have nothing to write. It
// must be used in a bubble.
//
// The hooks of the fake service call [Pick] for each request, and Check after each request that
// changes something.
type Schedule struct {
	Cloud
	stop func()

	mu     sync.Mutex
	random *rand.Rand
	// broken is how many of a hundred requests fail, and bad a name that the service refuses
	// meanwhile.
	broken int
	bad    string
	// wanted are what objects ask for, by name, and hers the records of the other writer.
	wanted map[string][]*dns.RecordSet
	hers   map[string]*dns.RecordSet
}

// NewSchedule returns a schedule that hasn't begun.
func NewSchedule(c Cloud, seed uint64) *Schedule {
	if !testing.Verbose() {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Records == nil {
		c.Records = records
	}
	return &Schedule{Cloud: c, random: rand.New(rand.NewPCG(seed, 1)), wanted: map[string][]*dns.RecordSet{}, hers: map[string]*dns.RecordSet{}}
}

// Pick returns one of some faults, or, for most requests, none.
func Pick[F any](s *Schedule, faults ...F) (none F) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.random.IntN(100) >= s.broken {
		return none
	}
	return faults[s.random.IntN(len(faults))]
}

// otherServer are responses of a server that isn't the service.
var otherServer = []struct {
	status int
	body   string
}{{http.StatusOK, ""}, {http.StatusOK, "{}"}, {http.StatusOK, "<html><body>Sign in</body></html>"}, {http.StatusNoContent, ""}, {http.StatusNotFound, "<html><body>Not found</body></html>"}}

// OtherServer returns a transport on which another server, such as a proxy, responds to some requests. It is
// for [Fixture.Wrap]. Nothing is changed by these requests, although most responses are successful.
func (s *Schedule) OtherServer(next http.RoundTripper) http.RoundTripper {
	return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
		if !Pick(s, true, false, false) {
			return next.RoundTrip(r)
		}
		if r.Body != nil {
			_ = r.Body.Close()
		}
		other := otherServer[s.N(len(otherServer))]
		return &http.Response{StatusCode: other.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(other.body)), Request: r}, nil
	})
}

// Bad returns a name that the service should refuse now. It is empty for none.
func (s *Schedule) Bad() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bad
}

// N returns a random number below another one.
func (s *Schedule) N(below int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(below)
}

// Play runs the schedule.
func (s *Schedule) Play() {
	s.stop = s.Start()
	for range 30 {
		// Between two requests the other writer makes no half of a change.
		synctest.Wait()
		s.step()
		s.Check()
		time.Sleep(time.Duration(s.N(40_000)) * time.Millisecond)
	}
	s.disturb(0, 0, "")
	recovery := s.Recovery
	if recovery == 0 {
		recovery = 75 * time.Second
	}
	time.Sleep(2*publisher.DefaultInterval + recovery)
	s.stop()
	s.converged()
	if requests, err := s.Run(s.Asked()...); err != nil && len(s.hers) == 0 || count(requests, s.changes()) > 0 {
		s.T.Errorf("another process: %v, error %v", requests, err)
	}
}

// step makes one random event happen.
func (s *Schedule) step() {
	switch n := s.N(20); {
	case n < 9:
		for range 1 + s.N(6) {
			s.ask()
		}
	case n < 13:
		s.changeExternally()
	case n < 15:
		if s.mayRestart() {
			s.restart()
		}
	case n < 18:
		s.disturb([]int{5, 20, 40, 70}[s.N(4)], time.Duration(s.N(int(s.MostLag/time.Second)+1))*time.Second, s.name())
	default:
		s.disturb(0, 0, "")
	}
}

func (s *Schedule) disturb(broken int, lag time.Duration, bad string) {
	s.Server.SetLag(lag)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken, s.bad = broken, bad
}

// mayRestart reports whether the process may end: not while there is an ownership record of ours
// for a record of the other writer. The next process couldn't know that the record isn't ours
// (docs/decisions/0011).
func (s *Schedule) mayRestart() bool {
	sets := s.Sets()
	return !slices.ContainsFunc(sets, func(r *dns.RecordSet) bool { return s.isHers(r) && ownershipRecords(sets, r) > 0 })
}

func (s *Schedule) restart() {
	s.stop()
	// A process whose first listing lacks the last writes takes their ownership records for failed
	// attempts of its own, and removes them (docs/decisions/0011). The service may carry out a request
	// after its process has ended.
	time.Sleep(s.MostLag + time.Second)
	s.stop = s.Start()
}

// name returns one of the names that the publisher and the other writer contend for.
func (s *Schedule) name() string { return fmt.Sprintf("n%d.%s", s.N(8), s.Zones[s.N(len(s.Zones))]) }

// ask changes what objects ask for under a name.
func (s *Schedule) ask() {
	name := s.name()
	if delete(s.wanted, name); s.N(5) > 0 {
		s.wanted[name] = s.Records(name, s.N)
	}
	var all []*dns.RecordSet
	for _, sets := range s.wanted {
		all = append(all, sets...)
	}
	s.Ask(all...)
}

// records returns addresses or an alias.
func records(name string, n func(int) int) []*dns.RecordSet {
	ttl := fmt.Sprint("ttl=", 60*(1+n(2)))
	targets := make([]string, 1+n(3))
	for i := range targets {
		targets[i] = fmt.Sprintf("192.0.2.%d", 10*n(3)+i)
	}
	a, aaaa := Set(name, "A", strings.Join(targets, ","), ttl), Set(name, "AAAA", fmt.Sprintf("2001:db8::%d", 1+n(3)), ttl)
	return [][]*dns.RecordSet{{a}, {a}, {aaaa}, {a, aaaa}, {Set(name, "CNAME", fmt.Sprintf("lb%d.example.net", n(3)), ttl)}}[n(5)]
}

// changeExternally has the other writer create a record where there is nothing, or change or delete
// one of hers.
func (s *Schedule) changeExternally() {
	r := Set(s.name(), "A", fmt.Sprintf("203.0.113.%d", s.N(200)), "ttl=300")
	remove := s.N(2) == 0
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.hers[r.Name]
	switch {
	case old != nil && remove:
		s.Remove(old)
		delete(s.hers, r.Name)
	case old != nil, !s.taken(r.Name):
		s.Put(r)
		s.hers[r.Name] = r
	}
}

// taken reports whether a name has record sets, or an ownership record.
func (s *Schedule) taken(name string) bool {
	return s.Taken != nil && s.Taken(name) ||
		slices.ContainsFunc(s.Sets(), func(r *dns.RecordSet) bool { return r.Name == name || strings.HasSuffix(r.Name, "-"+name) })
}

// isHers reports whether a record set is that of the other writer, unchanged.
func (s *Schedule) isHers(r *dns.RecordSet) bool {
	hers := s.hers[r.Name]
	return hers != nil && hers.Type == r.Type && hers.TTL == r.TTL && dns.SameTargets(hers.Targets, r.Targets)
}

func isOwnershipRecord(r *dns.RecordSet) bool {
	return r.Type == dns.TypeTXT && strings.Contains(strings.Join(r.Targets, ""), "heritage=")
}

// ownershipRecords returns how many ownership records a record set has.
func ownershipRecords(sets []*dns.RecordSet, of *dns.RecordSet) (n int) {
	for _, r := range sets {
		if isOwnershipRecord(r) && r.Name == strings.ToLower(of.Type)+"-"+of.Name {
			n++
		}
	}
	return n
}

// Check looks for changed records of the other writer, and for records of ours without an ownership
// record.
func (s *Schedule) Check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.T.Failed() {
		return // All that follows from the first fault says no more.
	}
	sets := s.Sets()
	unchanged := 0
	for _, r := range sets {
		switch {
		case s.isHers(r):
			unchanged++
		case !isOwnershipRecord(r) && ownershipRecords(sets, r) != 1:
			s.T.Errorf("%v: %s %s has %d ownership records", time.Now(), r.Name, r.Type, ownershipRecords(sets, r))
		}
	}
	if unchanged != len(s.hers) {
		s.T.Errorf("%v: %d of %d records of the other writer are unchanged: %v", time.Now(), unchanged, len(s.hers), sets)
	}
}

// converged compares the zones with the wanted records. Under a name of the other writer there may
// be another type of ours, created when she was later.
func (s *Schedule) converged() {
	s.Check()
	want, got := map[dns.Key][]string{}, map[dns.Key][]string{}
	for _, r := range s.Asked() {
		if s.hers[r.Name] == nil {
			want[r.Key()] = dns.UniqueSorted(r.Targets)
		}
	}
	for _, r := range s.Sets() {
		if key := r.Key(); isOwnershipRecord(r) {
			recordType, name, _ := strings.Cut(r.Name, "-")
			key.Name, key.Type = name, strings.ToUpper(recordType)
			if want[key] == nil && s.hers[name] == nil {
				s.T.Errorf("the ownership record %s is left", r.Name)
			}
		} else if s.hers[r.Name] == nil {
			got[key] = append(got[key], r.Targets...)
		}
	}
	for key := range got {
		if want[key] == nil {
			s.T.Errorf("%v is left", key)
		}
	}
	for key, targets := range want {
		if !dns.SameTargets(got[key], targets) {
			s.T.Errorf("%v is %q, want %q", key, got[key], targets)
		}
	}
}
