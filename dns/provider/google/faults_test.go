package google

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

var (
	schedules = flag.Int("google.schedules", 10, "how many seeded schedules of faults to run")
	firstSeed = flag.Uint64("google.seed", 0, "the first seed")
)

// A publisher and a person change two zones, while the server fails in all the ways it has. No
// record of the person is ever touched, and no record is ever there without its ownership record. Two
// cycles after the last fault, everything is as it should be.
func TestFaults(t *testing.T) {
	prepare(t)
	for seed := *firstSeed; seed < *firstSeed+uint64(longtest.Rounds(*schedules)); seed++ {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, seed) })
		})
	}
}

// mostLag is how late listings are at most.
const mostLag = 8 * time.Second

// schedule is a run of a publisher with faults.
type schedule struct {
	t      *testing.T
	server *clouddnstest.Server
	stop   func()

	mu     sync.Mutex
	random *rand.Rand
	// tenths is how many of ten requests fail.
	tenths int
	// wanted is what objects ask for, by name and type, and persons what the person has made.
	wanted, persons map[string]*dns.RecordSet
	// bad is a name that the server refuses for now.
	bad string
}

// places are the zones, by name.
var places = map[string]string{"shop": "shop.test", "other": "other.test"}

func play(t *testing.T, seed uint64) {
	s := &schedule{
		t: t, server: clouddnstest.New(), random: rand.New(rand.NewPCG(seed, 1)),
		wanted: map[string]*dns.RecordSet{}, persons: map[string]*dns.RecordSet{},
	}
	for name, dnsName := range places {
		s.server.AddZone(clouddnstest.Zone{Name: name, DNSName: dnsName})
	}
	s.server.SetHooks(clouddnstest.Hooks{Before: s.before, After: s.after})
	s.start()
	for range 25 {
		s.step()
		time.Sleep(time.Duration(s.draw(90_000)) * time.Millisecond)
		s.check()
	}
	s.endFaults()
	// A call that was running ends, and so does a pause that the server has asked for. Then there
	// are two cycles.
	time.Sleep(2*publisher.DefaultInterval + 75*time.Second)
	s.check()
	s.checkDone()
	s.stop()
}

// draw returns a random number below n.
func (s *schedule) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// step makes one random event happen.
func (s *schedule) step() {
	switch n := s.draw(10); {
	case n < 5:
		s.ask()
	case n < 7:
		s.changeExternally()
	case n < 8:
		s.stop()
		// A process whose first listing lacks what the one before has just written takes its
		// ownership records for failed attempts of its own, and removes them (decision 0011).
		time.Sleep(mostLag)
		s.start()
	case n < 9:
		s.disturb(s.draw(8), time.Duration(s.draw(int(mostLag/time.Second)+1))*time.Second)
	default:
		s.endFaults()
	}
}

func (s *schedule) disturb(tenths int, lag time.Duration) {
	s.server.SetLag(lag)
	bad := s.name()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenths, s.bad = tenths, bad
}

func (s *schedule) endFaults() {
	s.server.SetLag(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenths, s.bad = 0, ""
}

// name returns one of the names that the publisher and the person contend for.
func (s *schedule) name() string {
	zone := "shop.test"
	if s.draw(3) == 0 {
		zone = "other.test"
	}
	return fmt.Sprintf("n%d.%s", s.draw(10), zone)
}

// ask changes what objects ask for under some names.
func (s *schedule) ask() {
	for range 1 + s.draw(6) {
		name, n := s.name(), s.draw(4)
		records := [][]*dns.RecordSet{
			{},
			{set(name, "A", fmt.Sprintf("192.0.2.%d", 1+s.draw(3)))},
			{set(name, "CNAME", fmt.Sprintf("target%d.example", s.draw(3)))},
			{set(name, "A", fmt.Sprintf("192.0.2.%d", 1+s.draw(3))), set(name, "AAAA", fmt.Sprintf("2001:db8::%d", 1+s.draw(3)))},
		}[n]
		s.mu.Lock()
		for key, r := range s.wanted {
			if r.Name == name {
				delete(s.wanted, key)
			}
		}
		for _, r := range records {
			s.wanted[r.Name+" "+r.Type] = r
		}
		s.mu.Unlock()
	}
}

// changeExternally lets the other writer make a record where nothing is, or change or remove one of theirs.
func (s *schedule) changeExternally() {
	name := s.name()
	zone := zoneOf(name)
	address := fmt.Sprintf("203.0.113.%d", 1+s.draw(9))
	remove := s.draw(2) == 0
	s.mu.Lock()
	defer s.mu.Unlock()
	_, mine := s.persons[name]
	taken := slices.ContainsFunc(s.server.Sets(zone), func(r clouddnstest.RecordSet) bool { return strings.HasSuffix(strings.TrimSuffix(r.Name, "."), name) })
	switch {
	case mine && remove:
		s.server.Remove(zone, name, "A")
		delete(s.persons, name)
	case mine || !taken:
		s.server.Put(zone, clouddnstest.RecordSet{Name: name, Type: "A", TTL: 60, Datas: []string{address}})
		s.persons[name] = set(name, "A", address)
	}
}

func zoneOf(name string) string {
	for zone, apex := range places {
		if strings.HasSuffix(name, apex) {
			return zone
		}
	}
	return ""
}

// before is what happens to a request before it has an effect: it takes a while, and may fail.
func (s *schedule) before(c clouddnstest.Call) *clouddnstest.Fault {
	time.Sleep(time.Duration(s.draw(300)) * time.Millisecond)
	if s.draw(10) >= s.failing() {
		return s.refuse(c)
	}
	faults := []*clouddnstest.Fault{clouddnstest.RateLimited, clouddnstest.Exhausted, clouddnstest.Failed, clouddnstest.Lost, nil, nil}
	return faults[s.draw(len(faults))]
}

// refuse refuses a change of the bad name, with a message that names it or not.
func (s *schedule) refuse(c clouddnstest.Call) *clouddnstest.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range c.Change.Additions {
		if s.bad != "" && r.Name == s.bad+"." {
			messages := []string{fmt.Sprintf("Invalid value for 'entity.change.additions[%s][%s].name': ''", r.Name, r.Type), fmt.Sprintf("Invalid value for 'entity.change.additions[%d].name': ''", i), "Invalid"}
			return &clouddnstest.Fault{Status: 400, Reason: "invalid", Message: messages[s.random.IntN(len(messages))]}
		}
	}
	return nil
}

// after is what happens to an answer. The zones are looked at after each change.
func (s *schedule) after(c clouddnstest.Call) *clouddnstest.Fault {
	if c.Operation == clouddnstest.CreateChange {
		s.check()
	}
	if s.draw(10) >= s.failing() {
		return nil
	}
	faults := []*clouddnstest.Fault{clouddnstest.Failed, clouddnstest.Lost, nil}
	return faults[s.draw(len(faults))]
}

func (s *schedule) failing() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tenths
}

// check finds records of the person that were touched, and records without their ownership record.
func (s *schedule) check() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, r := range s.persons {
		if there := s.server.Get(zoneOf(name), name, "A"); there == nil || there.Datas[0] != r.Targets[0] {
			s.t.Errorf("%v: the person's %s is %v, not %v", time.Now(), name, there, r.Targets)
		}
	}
	for zone := range places {
		for _, r := range s.server.Sets(zone) {
			name := strings.TrimSuffix(r.Name, ".")
			if isOwnershipRecord(r) || r.Type == "A" && s.persons[name] != nil {
				continue
			}
			if s.server.Get(zone, strings.ToLower(r.Type)+"-"+name, "TXT") == nil {
				s.t.Errorf("%v: %s %s has no ownership record", time.Now(), name, r.Type)
			}
		}
	}
}

// checkDone compares the zones with what is asked for.
func (s *schedule) checkDone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, r := range s.wanted {
		there := s.server.Get(zoneOf(r.Name), r.Name, r.Type)
		if s.persons[r.Name] == nil && (there == nil || !dns.SameTargets(listed(rawOf(there)).Targets, r.Targets)) {
			s.t.Errorf("%s is %v, and should be %v", key, there, r.Targets)
		}
	}
	for zone := range places {
		for _, r := range s.server.Sets(zone) {
			name := strings.TrimSuffix(r.Name, ".")
			recordType := r.Type
			if isOwnershipRecord(r) {
				prefix, rest, _ := strings.Cut(name, "-")
				name, recordType = rest, strings.ToUpper(prefix)
			} else if s.persons[name] != nil {
				continue
			}
			if s.wanted[name+" "+recordType] == nil || s.persons[name] != nil {
				s.t.Errorf("%s %s is there, and nobody asks for it", r.Name, r.Type)
			}
		}
	}
}

// start starts a publisher, as a new process does.
func (s *schedule) start() {
	s.t.Helper()
	w := publishertest.NewFixture(s.t)
	if w.Poll = s.poll; !testing.Verbose() {
		w.Log = slog.New(slog.DiscardHandler)
	}
	w.Open = func() provider.Provider {
		return open(s.t, w.Input(s.server.Transport()), "--google-batch-change-size=8")
	}
	s.stop = w.Start()
}

// poll returns what objects ask for.
func (s *schedule) poll() (records []*dns.RecordSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.wanted {
		records = append(records, r.Clone())
	}
	return records
}
