package publishertest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
)

// Cloud is a server, with what an account there can see and do.
type Cloud struct {
	// Open opens a provider as a new process does. Its transport is wrapped with wrap.
	Open func(wrap func(http.RoundTripper) http.RoundTripper) provider.Provider
	// Zone is the name of an empty zone.
	Zone string
	// Sets returns the present content of the zone, even if listings lag. Put creates a record set as another
	// writer would.
	Sets func() []*dns.RecordSet
	Put  func(*dns.RecordSet)
	// Throttled returns the response to a request beyond the limit.
	Throttled func(*http.Request) *http.Response
	// SetLag makes listings lag behind. It is nil if the service has no lagging listings.
	SetLag func(time.Duration)
	// Writes reports whether a request changes records; nil means all but GET and HEAD.
	Writes func(*http.Request) bool
}

// Faults runs a schedule: objects are added, changed and deleted while requests are throttled, answered with
// 503 before or after they have had their effect, or cut off, processes end, and listings lag. At all times
// other writers' records must stay unchanged, and each record of ours must have its ownership record. Two
// intervals after the last fault the zone must have the wanted records, and from then on nothing may be
// written. It must be called in a bubble.
func Faults(t *testing.T, c Cloud, seed uint64) {
	t.Helper()
	s := &schedule{
		Cloud: c, t: t, random: rand.New(rand.NewPCG(seed, 1)), wanted: map[string]string{},
		m: &measuring{t: t, records: map[source.Key]*dns.RecordSet{}, quiet: true},
	}
	for i := range 5 {
		s.others = append(s.others, &dns.RecordSet{Name: fmt.Sprintf("hers%d.%s", i, c.Zone), Type: dns.TypeA, TTL: 300, Targets: []string{"203.0.113.7"}})
		c.Put(s.others[i])
	}
	broken := 3 + s.random.IntN(4)
	s.restart()
	defer func() { s.stop() }()
	s.disturb(broken)
	for range 25 {
		s.step()
		time.Sleep(time.Duration(s.intN(20_000)) * time.Millisecond)
		synctest.Wait()
		s.check()
	}
	s.endFaults()
	// A throttled process waits, at most a minute with these responses.
	time.Sleep(3 * interval)
	synctest.Wait()
	s.converged()
	writes := s.m.Counter.lastWrite()
	time.Sleep(2 * interval)
	s.converged()
	if last := s.m.Counter.lastWrite(); last != writes {
		t.Error("something is written although nothing has changed")
	}
}

// schedule is the state of one test of faults.
type schedule struct {
	Cloud
	t      *testing.T
	m      *measuring
	stop   func()
	others []*dns.RecordSet
	// wanted has the wanted targets, by name.
	wanted map[string]string

	mu     sync.Mutex
	random *rand.Rand
	// broken is how many of ten requests fail.
	broken int
}

func (s *schedule) intN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// disturb makes so many of ten requests fail.
func (s *schedule) disturb(broken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

func (s *schedule) restart() {
	if s.stop != nil {
		s.stop()
		// A process whose first listing lacks the last writes takes their ownership records for failed
		// attempts of its own, and removes them (decision 0011).
		time.Sleep(mostLag)
	}
	s.m.Counter = &Counter{Operation: s.operation, Writes: map[string]bool{"write": true}}
	s.m.Provider = s.Open(func(next http.RoundTripper) http.RoundTripper { return s.m.Counter.Wrap(s.faulty(next)) })
	s.stop = s.m.start()
}

func (s *schedule) operation(r *http.Request) string {
	writes := r.Method != http.MethodGet && r.Method != http.MethodHead
	if s.Writes != nil {
		writes = s.Writes(r)
	}
	if writes {
		return "write"
	}
	return "read"
}

// step changes an object, or ends a process.
func (s *schedule) step() {
	number := s.intN(8)
	name := fmt.Sprintf("www%d.%s", number, s.Zone)
	s.m.Target = func(version int) string { return fmt.Sprintf("192.0.2.%d", version) }
	switch s.intN(8) {
	case 0:
		s.restart()
	case 1, 2:
		s.m.changed(s.m.drop(name))
		delete(s.wanted, name)
	case 3:
		if s.SetLag != nil {
			s.SetLag(time.Duration(s.intN(int(mostLag/time.Second)+1)) * time.Second)
		}
	case 4:
		// Another writer has the name already.
		s.m.changed(s.m.askFor(s.others[s.intN(len(s.others))].Name, 1))
	default:
		version := 1 + s.intN(4)
		s.m.changed(s.m.askFor(name, version))
		s.wanted[name] = s.m.Target(version)
	}
}

func (s *schedule) endFaults() {
	s.disturb(0)
	if s.SetLag != nil {
		s.SetLag(0)
	}
}

// mostLag is the longest lag of listings.
const mostLag = 3 * time.Second

var errReset = errors.New("connection reset by peer")

// faulty makes requests fail, before or after they have had their effect.
func (s *schedule) faulty(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		s.mu.Lock()
		wrong, kind := s.random.IntN(10) < s.broken, s.random.IntN(5)
		s.mu.Unlock()
		if !wrong {
			return next.RoundTrip(r)
		}
		switch kind {
		case 0:
			return s.Throttled(r), nil
		case 1:
			return unavailable(r), nil
		case 2:
			return nil, errReset
		}
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		_ = resp.Body.Close()
		if kind == 3 {
			return unavailable(r), nil
		}
		return nil, errReset
	})
}

func unavailable(r *http.Request) *http.Response { return Answer(r, http.StatusServiceUnavailable, "") }

// Answer returns a response with a text.
func Answer(r *http.Request, status int, text string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: r,
	}
}

// check looks for changed records of other writers, and for records without an ownership record.
func (s *schedule) check() {
	s.t.Helper()
	sets := s.Sets()
	for _, h := range s.others {
		if !slices.ContainsFunc(sets, func(r *dns.RecordSet) bool { return r.Key() == h.Key() && dns.SameTargets(r.Targets, h.Targets) }) {
			s.t.Fatalf("the person's %s is gone or changed", h.Name)
		}
	}
	for _, r := range sets {
		name := dns.Canonical(r.Name)
		if r.Type == dns.TypeA && strings.HasPrefix(name, "www") && !slices.ContainsFunc(sets, func(o *dns.RecordSet) bool {
			return o.Type == dns.TypeTXT && dns.Canonical(o.Name) == "a-"+name && strings.Contains(strings.Join(o.Targets, ""), "owner=me")
		}) {
			s.t.Fatalf("%s has no ownership record", name)
		}
	}
}

// converged compares the zone with the wanted records.
func (s *schedule) converged() {
	s.t.Helper()
	s.check()
	left := len(s.wanted)
	for _, r := range s.Sets() {
		name := dns.Canonical(r.Name)
		switch {
		case r.Type == dns.TypeA && strings.HasPrefix(name, "www"):
			if target, asked := s.wanted[name]; !asked || !dns.SameTargets(r.Targets, []string{target}) {
				s.t.Errorf("the zone has %s %v, want %q", name, r.Targets, target)
			}
			left--
		case r.Type == dns.TypeTXT && strings.HasPrefix(name, "a-www"):
			if _, asked := s.wanted[strings.TrimPrefix(name, "a-")]; !asked {
				s.t.Errorf("the ownership record %s is left", name)
			}
		}
	}
	if left > 0 {
		s.t.Errorf("%d of %d records are missing", left, len(s.wanted))
	}
}
