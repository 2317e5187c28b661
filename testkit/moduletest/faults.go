package moduletest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// faults makes the network and the server fail while a publisher and another writer change a zone.
func faults(t *testing.T, o Options) { publishertest.Schedules(t, 20, o.playFaults) }

func (o Options) playFaults(t *testing.T, seed uint64) {
	store := NewStore()
	store.AddZone(zoneName)
	w := publishertest.NewFixture(t)
	w.Open = func() provider.Provider {
		return o.open(t, store, w.Input(handlertransport.New(o.Serve(store))), Secret, zoneName)
	}
	w.Server, w.Writes = &changing{store: store}, func(string) bool { return true }
	bare := func(name string) string { return strings.TrimSuffix(name, "."+zoneName) }
	remove := func(r *dns.RecordSet) {
		for _, there := range store.Set(zoneName, bare(r.Name), r.Type) {
			if strings.HasPrefix(there.Data, hers) {
				store.Delete(zoneName, there.ID)
			}
		}
	}
	s := publishertest.NewSchedule(publishertest.Cloud{
		Fixture: w, Zones: []string{zoneName}, Records: records,
		Sets: func() (all []*dns.RecordSet) {
			for _, r := range store.List(zoneName) {
				all = append(all, &dns.RecordSet{Name: r.Name + "." + zoneName, Type: r.Type, TTL: r.TTL, Targets: []string{strings.TrimSuffix(r.Data, ".")}})
			}
			return all
		},
		Put: func(r *dns.RecordSet) {
			remove(r)
			if _, err := store.Add(zoneName, Record{Name: bare(r.Name), Type: r.Type, Data: r.Targets[0], TTL: r.TTL}); err != nil {
				t.Error(err)
			}
		},
		Remove: remove,
		// A failed type change isn't retried at once.
		Recovery: 10 * provider.FirstSwapPause,
	}, seed)
	w.Wrap = func(next http.RoundTripper) http.RoundTripper { return flaky{next, s} }
	s.Play()
}

// hers is how the other writer's data begin.
const hers = "203.0.113."

// records returns record sets of a name, with a TTL that each service takes.
func records(name string, n func(below int) int) []*dns.RecordSet {
	if n(4) == 0 {
		return []*dns.RecordSet{publishertest.Set(name, dns.TypeCNAME, fmt.Sprintf("lb%d.example.net", n(3)), "ttl=3600")}
	}
	targets := make([]string, 1+n(3))
	for i := range targets {
		targets[i] = fmt.Sprintf("192.0.2.%d", 10*n(3)+i)
	}
	return []*dns.RecordSet{publishertest.Set(name, dns.TypeA, strings.Join(targets, ","), "ttl=3600")}
}

// changing is a store as a server of publishertest.
type changing struct {
	store *Store
	last  []Record
}

// Operations returns one operation if the store has changed since it was called last.
func (w *changing) Operations() map[string]int {
	last := w.last
	if w.last = w.store.List(zoneName); slices.Equal(last, w.last) {
		return nil
	}
	return map[string]int{"change": 1}
}

// Refused isn't counted.
func (*changing) Refused() int { return 0 }

// SetLag does nothing, because the stores' listings don't lag.
func (*changing) SetLag(time.Duration) {}

// failure is how a request fails: with a status, or for zero without an answer, after it had its effect or
// before.
type failure struct {
	status int
	after  bool
}

// flaky is a transport that fails at random.
type flaky struct {
	next http.RoundTripper
	s    *publishertest.Schedule
}

// RoundTrip implements [http.RoundTripper].
func (f flaky) RoundTrip(req *http.Request) (*http.Response, error) {
	fails := publishertest.Pick(f.s, &failure{}, &failure{status: http.StatusTooManyRequests}, &failure{status: http.StatusBadGateway}, &failure{http.StatusInternalServerError, true}, &failure{after: true})
	if fails == nil {
		return f.next.RoundTrip(req)
	}
	if fails.after {
		if resp, err := f.next.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		}
	} else if req.Body != nil {
		_ = req.Body.Close()
	}
	if fails.status == 0 {
		return nil, errors.New("connection reset by peer")
	}
	return &http.Response{StatusCode: fails.status, Header: http.Header{"Retry-After": {"3"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
}
