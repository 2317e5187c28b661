package azure

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
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
	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/longtest"
)

var (
	schedules = flag.Int("azure.schedules", 10, "how many seeded schedules of faults to run")
	firstSeed = flag.Uint64("azure.seed", 0, "the first seed")
)

// A publisher, which ends and begins anew, has faults of a schedule: too many requests, failures
// before and after a change was made, lost connections, refusals, missing rights, listings that are
// behind, and a person. At no moment is a record without its ownership record, nobody changes what the person
// has made, and two cycles after the last fault everything is as it should be.
func TestFaults(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+uint64(longtest.Rounds(*schedules)); seed++ {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playFaults(t, seed) })
		})
	}
}

// schedule is the state of a test of faults.
type schedule struct {
	*fixture

	mu     sync.Mutex
	random *rand.Rand
	// broken is how many of a hundred requests fail.
	broken int
	// theirs has the ETags of what the person has made, by name and type.
	theirs map[string]string
	wanted map[string]*dns.RecordSet
	// stop ends the publisher.
	stop func()
	// gaps has, by name and type, when the name lost its answer with a record of that type last. A new process
	// knows of none. asks has how often objects have asked for a name, polled how often the process has seen
	// that, and polledAtGap how often it had at the last gap.
	gaps                      map[string]time.Time
	asks, polled, polledAtGap map[string]int
	// without has the names that had no answer after the last request about them.
	without map[string]bool
}

func playFaults(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	s := &schedule{fixture: newFixture(t, random.IntN(2) == 0), random: random, theirs: map[string]string{}, wanted: map[string]*dns.RecordSet{}, gaps: map[string]time.Time{}, asks: map[string]int{}, polled: map[string]int{}, polledAtGap: map[string]int{}, without: map[string]bool{}}
	if s.Poll = s.asked; !testing.Verbose() {
		s.Log = slog.New(slog.DiscardHandler)
	}
	s.addZone(zoneName, azuretest.Group)
	s.server.SetHooks(azuretest.Hooks{Before: s.before, After: s.after})
	s.start()
	for range 12 {
		s.cycle()
	}
	s.disturb(0, 0)
	// What was under way ends, and so does the time for which Azure didn't want to be asked. Then
	// there are two cycles. Pauses after refused type changes end with the process, or by themselves.
	if s.mayEnd() {
		s.stop()
		s.start()
	} else {
		time.Sleep(10 * provider.FirstSwapPause)
	}
	time.Sleep(2*time.Minute + 2*publisher.DefaultInterval)
	s.stop()
	s.converged()
}

// start begins a process.
func (s *schedule) start() {
	s.mu.Lock()
	clear(s.gaps)
	s.mu.Unlock()
	s.stop = s.Start()
}

// disturb sets how many of two hundred requests fail, before they have an effect and after it, and
// how far listings are behind.
func (s *schedule) disturb(broken int, lag time.Duration) {
	s.mu.Lock()
	s.broken = broken
	s.mu.Unlock()
	s.server.SetLag(lag)
}

// mayEnd reports whether the process may end now: not while there is an ownership record for what the person
// has made. The next process couldn't know that it isn't its own (docs/decisions/0011).
func (s *schedule) mayEnd() bool {
	sets := s.server.Sets(zoneName)
	return !slices.ContainsFunc(sets, func(r azuretest.RecordSet) bool {
		return s.isTheirs(r) && slices.ContainsFunc(sets, func(m azuretest.RecordSet) bool { return m.Name == ownershipRecordOf(r) && isOwnershipRecord(m) })
	})
}

func ownershipRecordOf(r azuretest.RecordSet) string { return strings.ToLower(r.Type) + "-" + r.Name }

// cycle changes what is wanted, lets the person do something, and waits.
func (s *schedule) cycle() {
	s.mu.Lock()
	for range s.random.IntN(6) {
		s.ask(fmt.Sprintf("n%d.shop.test", s.random.IntN(8)))
	}
	s.changeExternally()
	broken := []int{0, 5, 20, 60}[s.random.IntN(4)]
	lag := time.Duration(s.random.IntN(3)) * time.Duration(s.random.IntN(5)) * time.Second
	again, pause := s.random.IntN(2) == 0, time.Duration(s.random.IntN(150_000))*time.Millisecond
	s.mu.Unlock()
	if again = again && s.mayEnd(); again {
		s.stop()
	}
	s.disturb(broken, lag)
	if again {
		// A new process can't know what the one before has just done.
		time.Sleep(lag)
		s.start()
	}
	time.Sleep(pause)
	s.untouched()
}

// ask changes what is wanted under a name.
func (s *schedule) ask(name string) {
	s.asks[strings.TrimSuffix(name, "."+zoneName)]++
	delete(s.wanted, name)
	delete(s.wanted, name+" AAAA")
	switch n := s.random.IntN(8); s.random.IntN(5) {
	case 0, 1:
		s.wanted[name] = set(name, "A", fmt.Sprintf("192.0.2.%d", n))
		if n%2 == 0 {
			s.wanted[name+" AAAA"] = set(name, "AAAA", fmt.Sprintf("2001:db8::%d", n+1))
		}
	case 2:
		s.wanted[name] = set(name, "CNAME", fmt.Sprintf("lb%d.example.net", n))
	case 3:
		s.wanted[name] = set(name, "AAAA", fmt.Sprintf("2001:db8::%d", n+1), "azure/tags=n="+fmt.Sprint(n))
	}
}

// asked returns what is wanted.
func (s *schedule) asked() []*dns.RecordSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.polled, s.asks)
	return slices.Collect(maps.Values(s.wanted))
}

// changeExternally lets the other writer make or remove a record set, where nothing is ours.
func (s *schedule) changeExternally() {
	name := fmt.Sprintf("n%d", s.random.IntN(8))
	if _, own := s.theirs[name+" A"]; own && s.random.IntN(2) == 0 {
		s.server.Set(zoneName, azuretest.RecordSet{Name: name, Type: "A"})
		delete(s.theirs, name+" A")
		return
	}
	for _, r := range s.server.Sets(zoneName) {
		if r.Name == name || isOwnershipRecord(r) && strings.HasSuffix(r.Name, "-"+name) {
			return
		}
	}
	ttl := int64(60)
	s.server.Set(zoneName, azuretest.RecordSet{Name: name, Type: "A", Properties: azuretest.Properties{TTL: &ttl, A: []azuretest.A{{Address: "203.0.113.1"}}}})
	s.theirs[name+" A"] = s.server.Get(zoneName, name, "A").ETag
}

// before is called before a request has its effect.
func (s *schedule) before(c azuretest.Call) *azuretest.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.random.IntN(200) >= s.broken {
		return nil
	}
	faults := []*azuretest.Fault{
		azuretest.Failed, azuretest.Lost, azuretest.Throttled(0), azuretest.Throttled(1 + s.random.IntN(20)), azuretest.Throttled(100),
		{Status: 503, Code: "ServiceUnavailable"},
		{Status: 403, Code: "AuthorizationFailed"},
		{Status: 409, Code: "Conflict", Bare: true},
	}
	if c.Writes() {
		faults = append(faults, azuretest.Refused)
	}
	return faults[s.random.IntN(len(faults))]
}

// after is called when a request had its effect.
func (s *schedule) after(c azuretest.Call) *azuretest.Fault {
	if c.Writes() {
		s.covered(c)
		s.whole(c)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.random.IntN(200) >= s.broken {
		return nil
	}
	return []*azuretest.Fault{azuretest.Failed, azuretest.Lost, {Status: 504, Code: "GatewayTimeout"}}[s.random.IntN(3)]
}

// covered checks that each record has its ownership record.
func (s *schedule) covered(c azuretest.Call) {
	sets := s.server.Sets(zoneName)
	for _, r := range sets {
		if s.isTheirs(r) || isOwnershipRecord(r) || slices.ContainsFunc(sets, func(m azuretest.RecordSet) bool { return m.Name == ownershipRecordOf(r) && isOwnershipRecord(m) }) {
			continue
		}
		s.T.Errorf("after %v there is %s without its ownership record", c, line(r))
	}
}

// whole checks that a name loses its answer only for a type change, and not again within a minute (clouds F2:
// nine times in two).
func (s *schedule) whole(c azuretest.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := c.Name + "." + zoneName
	if c.Type == "TXT" {
		return
	}
	before := s.without[c.Name]
	s.without[c.Name] = !slices.ContainsFunc(s.server.Sets(zoneName), func(r azuretest.RecordSet) bool { return r.Name == c.Name && !isOwnershipRecord(r) })
	if before || !s.without[c.Name] || s.wanted[full] == nil && s.wanted[full+" AAAA"] == nil {
		return
	}
	now := time.Now()
	// A batch that had to wait may make the type change of an older wish first. So only a record of the same
	// type counts that is deleted, comes back and is deleted again.
	key := c.Name + " " + c.Type
	if last, again := s.gaps[key]; again && now.Sub(last) < provider.FirstSwapPause && s.polled[c.Name] == s.polledAtGap[c.Name] {
		s.T.Errorf("after %v the name has no answer, as %v before", c, now.Sub(last))
	}
	s.gaps[key] = now
	s.polledAtGap[c.Name] = s.polled[c.Name]
}

func (s *schedule) isTheirs(r azuretest.RecordSet) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.theirs[r.Name+" "+r.Type] == r.ETag
}

// untouched checks that what the person has made is there as it was.
func (s *schedule) untouched() {
	for key, etag := range s.theirs {
		name, recordType, _ := strings.Cut(key, " ")
		if r := s.server.Get(zoneName, name, recordType); r == nil || r.ETag != etag {
			s.T.Errorf("the person's %s is gone or changed", key)
		}
	}
}

// converged checks that the zone is as it should be, and that a further run changes nothing.
func (s *schedule) converged() {
	s.untouched()
	p := s.open()
	zones, err := p.Zones(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	listed, err := p.Records(s.T.Context(), zones[0])
	if err != nil {
		s.T.Fatal(err)
	}
	there := map[dns.Key]*dns.RecordSet{}
	for _, r := range listed {
		there[r.Key()] = r
	}
	ours := 0
	for _, r := range s.wanted {
		name := strings.TrimSuffix(r.Name, "."+zoneName)
		if s.theirs[name+" A"] != "" {
			if r.Type != "A" && there[r.Key()] != nil {
				// It was made before the listing showed what is the person's.
				ours++
			}
			continue
		}
		ours++
		if got := there[r.Key()]; got == nil || !dns.SameTargets(got.Targets, r.Targets) {
			s.T.Errorf("%s %s %v isn't there: %v", r.Name, r.Type, r.Targets, got)
		}
	}
	if has := len(s.has(zoneName)); has != ours+len(s.theirs) {
		s.T.Errorf("%d record sets, of which %d should be ours and %d the person's: %v", has, ours, len(s.theirs), s.has(zoneName))
	}
	if requests, err := s.Run(s.asked()...); err != nil || requests[azuretest.Put] > 0 {
		s.T.Errorf("a further run: %v, %v", requests, err)
	}
}
