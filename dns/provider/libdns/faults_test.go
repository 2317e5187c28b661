package libdns_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// A publisher and a person use a zone, with faults of the module and of its service: too many
// requests, answers that are lost, calls that fail half way, listings that lag, TTLs that are
// raised, and restarts. Records of the person don't change, no record is made before its ownership
// record nor stays after it, and two cycles after the last fault everything is as it should be.
func TestFaults(t *testing.T) {
	publishertest.Schedules(t, 50, play)
}

// schedule is the state of a test of faults.
type schedule struct {
	t       *testing.T
	random  *rand.Rand
	service *libdnstest.Service
	module  module.Module
	p       provider.Provider
	// wanted are the record sets that objects ask for, by name, and hers is what the person made.
	wanted map[string]*dns.RecordSet
	hers   map[lib.RR]bool
}

func play(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	s := &schedule{t: t, random: random, service: libdnstest.NewService(zoneName), wanted: map[string]*dns.RecordSet{}, hers: map[lib.RR]bool{}}
	s.service.Delay = latency
	s.module = s.service.Module([]module.Replacing{module.NotReplacing, module.ReplacingWithGap, module.ReplacingAtOnce}[random.IntN(3)])
	s.service.Faults = libdnstest.Faults{IgnoresTTL: random.IntN(3) == 0, Atomic: random.IntN(3) == 0}
	if random.IntN(3) == 0 {
		s.service.Faults.MinTTL = 10 * time.Minute
	}
	// Listings may lag behind, but don't jump back.
	s.service.Lag = time.Duration(random.IntN(2)*random.IntN(3000)) * time.Millisecond
	s.restart()
	for range 12 {
		s.step()
		s.disturb()
		err := publish(t, s.p, s.list())
		t.Logf("%v published: %v", time.Now(), err)
		s.check()
	}
	s.service.Fail, s.service.After, s.service.Lag = nil, nil, 0
	time.Sleep(2 * time.Minute)
	for range 2 {
		if err := publish(t, s.p, s.list()); err != nil {
			t.Logf("after the last fault: %v", err)
		}
		time.Sleep(time.Minute)
	}
	s.settled()
}

func (s *schedule) restart() { s.p = open(s.t, input(), s.module) }

func (s *schedule) list() []*dns.RecordSet {
	var list []*dns.RecordSet
	for _, r := range s.wanted {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *dns.RecordSet) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// step changes what objects ask for, and what the person has.
func (s *schedule) step() {
	for range 1 + s.random.IntN(4) {
		name := fmt.Sprint("n", s.random.IntN(6))
		switch s.random.IntN(5) {
		case 0:
			delete(s.wanted, name)
		case 1:
			s.wanted[name] = set(name, dns.TypeCNAME, 60, fmt.Sprintf("lb%d.example.net", s.random.IntN(3)))
		default:
			var targets []string
			for i := range 1 + s.random.IntN(3) {
				targets = append(targets, fmt.Sprintf("192.0.2.%d", s.random.IntN(3)*10+i))
			}
			s.wanted[name] = set(name, dns.TypeA, int64(60*(1+s.random.IntN(2))), targets...)
		}
	}
	if s.random.IntN(3) == 0 {
		s.changeExternally()
	}
	if s.random.IntN(4) == 0 {
		// A new process knows nothing of what the one before has written. It starts after that can be
		// seen.
		time.Sleep(5 * time.Second)
		s.restart()
	}
}

// changeExternally lets the other writer make a record, beside those of the publisher or where it
// may want to have one. She makes nothing where the publisher has a record or an ownership record.
func (s *schedule) changeExternally() {
	name := fmt.Sprint("n", s.random.IntN(9))
	for _, line := range s.service.Records(zoneName) {
		if at := strings.Fields(line)[0]; at == name || strings.HasSuffix(at, "-"+name) {
			return
		}
	}
	rr := lib.RR{Name: name, Type: "A", TTL: 20 * time.Minute, Data: fmt.Sprintf("203.0.113.%d", s.random.IntN(200))}
	s.service.Put(zoneName, rr)
	s.hers[rr] = true
}

// disturb chooses faults for the next cycle.
func (s *schedule) disturb() {
	s.service.Fail, s.service.After = nil, s.watched(nil)
	nth := 1 + s.random.IntN(6)
	switch s.random.IntN(6) {
	case 0:
		s.service.Fail = s.nth(nth, errors.New("429 Too Many Requests, Retry-After: 5"), true)
	case 1:
		s.service.Fail = s.nth(nth, errors.New("status 503: unavailable"), true)
	case 2:
		s.service.Fail = s.nth(nth, errors.New("status 422: never"), true)
	case 3:
		s.service.After = s.watched(s.nth(nth, errors.New("connection reset by peer"), true))
	case 4:
		s.service.Fail = s.nth(nth, errors.New("status 500: no list"), false)
	}
}

// nth fails at one of the records that are written, or of the listings.
func (s *schedule) nth(n int, err error, written bool) func(string, lib.RR) error {
	return func(method string, _ lib.RR) error {
		if (method != "GetRecords") != written {
			return nil
		}
		if n--; n == 0 {
			return err
		}
		return nil
	}
}

// watched checks, after each record that was written, that no record of the publisher is without
// its ownership record.
func (s *schedule) watched(then func(string, lib.RR) error) func(string, lib.RR) error {
	return func(method string, rr lib.RR) error {
		if method == "AppendRecords" && rr.Type != "TXT" {
			ownership := strings.ToLower(rr.Type) + "-" + rr.Name
			if !slices.ContainsFunc(s.service.Peek(zoneName), func(r lib.RR) bool { return r.Name == ownership && r.Type == "TXT" }) {
				s.t.Errorf("%s %s is made before its ownership record", rr.Name, rr.Type)
			}
		}
		if method == "DeleteRecords" && s.hers[rr] {
			s.t.Errorf("%v, which is the person's, is deleted", rr)
		}
		if then == nil {
			return nil
		}
		return then(method, rr)
	}
}

// check checks that the records of the person are as they were, and that all others have an
// ownership record.
func (s *schedule) check() {
	s.t.Helper()
	there := s.service.Peek(zoneName)
	for rr := range s.hers {
		if !slices.Contains(there, rr) {
			s.t.Errorf("%v, which is the person's, is gone", rr)
		}
	}
	for _, rr := range there {
		ownership := strings.ToLower(rr.Type) + "-" + rr.Name
		if rr.Type != "TXT" && !s.hers[rr] && !slices.ContainsFunc(there, func(r lib.RR) bool { return r.Name == ownership }) {
			s.t.Errorf("%v is without its ownership record", rr)
		}
	}
	if s.t.Failed() {
		s.t.FailNow()
	}
}

// settled checks that the zone is as it is wanted, and that nothing is written any more. Where the
// person has a name, the publisher has nothing.
func (s *schedule) settled() {
	s.t.Helper()
	s.check()
	var want, got []string
	for name, r := range s.wanted {
		if s.isHers(name) {
			continue
		}
		for _, target := range dns.UniqueSorted(r.Targets) {
			want = append(want, fmt.Sprintf("%s %s %s", name, r.Type, target))
		}
	}
	for _, rr := range s.service.Peek(zoneName) {
		if rr.Type != "TXT" && !s.hers[rr] {
			got = append(got, fmt.Sprintf("%s %s %s", rr.Name, rr.Type, strings.TrimSuffix(rr.Data, ".")))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		s.t.Fatalf("the zone has\n\t%s\nwant\n\t%s\nall: %v", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), s.service.Records(zoneName))
	}
	s.service.Calls()
	_ = publish(s.t, s.p, s.list())
	if calls := writes(s.service); len(calls) > 0 {
		s.t.Fatalf("an idle cycle writes %v", calls)
	}
}

func (s *schedule) isHers(name string) bool {
	for rr := range s.hers {
		if rr.Name == name {
			return true
		}
	}
	return false
}
