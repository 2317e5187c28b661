package libdns_test

import (
	"errors"
	"math/rand/v2"
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

// A publisher and a person use a zone, with faults of the module and of its service: too many requests,
// answers that are lost, calls that fail half way, listings that lag, TTLs that are raised, and restarts.
func TestFaults(t *testing.T) {
	publishertest.Schedules(t, 20, play)
}

func play(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	service := libdnstest.NewService(zoneName)
	m := service.Module([]module.Replacing{module.NotReplacing, module.ReplacingWithGap, module.ReplacingAtOnce}[random.IntN(3)])
	service.Faults = libdnstest.Faults{IgnoresTTL: random.IntN(3) == 0, Atomic: random.IntN(3) == 0}
	if random.IntN(3) == 0 {
		service.Faults.MinTTL = 10 * time.Minute
	}
	// Listings may lag behind, but don't jump back.
	service.Lag = time.Duration(random.IntN(2)*random.IntN(3000)) * time.Millisecond
	w := publishertest.NewFixture(t)
	w.Open = func() provider.Provider { return open(t, w.Input(nil), m) }
	if service.Faults.MinTTL > 0 {
		w.Provider = w.Open() // A new one would ask for each TTL once.
	}
	w.Server, w.Writes = counted{service}, func(method string) bool { return libdnstest.Call{Method: method}.Writes() }
	bare := func(name string) string { return strings.TrimSuffix(name, "."+zoneName) }
	remove := func(r *dns.RecordSet) {
		service.Remove(zoneName, func(rr lib.RR) bool { return rr.Name == bare(r.Name) && rr.Data == r.Targets[0] })
	}
	hers := map[string]*dns.RecordSet{}
	s := publishertest.NewSchedule(publishertest.Cloud{
		Fixture: w, Zones: []string{zoneName}, MostLag: 3 * time.Second,
		Sets: func() (all []*dns.RecordSet) {
			for _, rr := range service.Peek(zoneName) {
				all = append(all, set(rr.Name, rr.Type, int64(rr.TTL.Seconds()), strings.TrimSuffix(rr.Data, ".")))
			}
			return all
		},
		Put: func(r *dns.RecordSet) {
			if old := hers[r.Name]; old != nil {
				remove(old)
			}
			hers[r.Name] = r
			service.Put(zoneName, lib.RR{Name: bare(r.Name), Type: r.Type, TTL: time.Duration(r.TTL) * time.Second, Data: r.Targets[0]})
		},
		Remove: func(r *dns.RecordSet) {
			remove(r)
			delete(hers, r.Name)
		},
		// A refused type change isn't retried at once.
		Recovery: 10 * provider.FirstSwapPause,
	}, seed)
	service.Fail = func(method string, rr lib.RR) error {
		if method != "GetRecords" && rr.Name+"."+zoneName == s.Bad() {
			return errors.New("status 422: never this name")
		}
		return publishertest.Pick(s, errors.New("429 Too Many Requests, Retry-After: 5"), errors.New("status 503: unavailable"), errors.New("status 422: never"), errors.New("status 500: "+method))
	}
	service.After = func(string, lib.RR) error {
		s.Check()
		return publishertest.Pick(s, errors.New("connection reset by peer"), nil, nil)
	}
	s.Play()
}

// counted is a service as a server of publishertest.
type counted struct{ service *libdnstest.Service }

// Operations returns the calls since it was called last, by method.
func (c counted) Operations() map[string]int {
	calls := map[string]int{}
	for _, call := range c.service.Calls() {
		calls[call.Method]++
	}
	return calls
}

func (counted) Refused() int         { return 0 }
func (counted) SetLag(time.Duration) {}
