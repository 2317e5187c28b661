package azure

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// 10,000 records in 50 zones: what an idle hour costs beside ExternalDNS, which lists the zones and
// reads each of them every minute (spec/clouds.md §0.7), and how soon a change is sent.
func TestCalls(t *testing.T) {
	inWorld(t, func(w *world) {
		var zones []string
		for i := range 50 {
			zones = append(zones, fmt.Sprintf("shop%d.test", i))
			w.addZone(zones[i], azuretest.Group)
		}
		counter := &publishertest.Counter{Operation: operation, Writes: map[string]bool{http.MethodPut: true, http.MethodDelete: true}}
		in := input()
		in.Name, in.Domains, in.Log = w.name, w.domains, w.log()
		transport := transportOf(w.server)
		in.Wrap = func(next http.RoundTripper) http.RoundTripper { return counter.Wrap(transport(next)) }
		p := open(w.t, in, w.private, w.arguments...)
		f := publishertest.Measure(w.t, publishertest.Options{
			Provider: p, Counter: counter, Zones: zones, Names: 100,
			Target: func(version int) string { return fmt.Sprintf("192.0.2.%d", version+1) },
		})
		t.Log(f)
		externalDNS := 60 * (1 + len(zones))
		if idle := publishertest.Total(f.Idle); idle*10 > externalDNS {
			t.Errorf("%d requests in an idle hour, want at most a tenth of the %d of ExternalDNS", idle, externalDNS)
		}
		if f.Percentile99() > 250*time.Millisecond {
			t.Errorf("p99 from a change to its request: %v, want at most 250 ms", f.Percentile99())
		}
	})
}

func operation(r *http.Request) string {
	path := strings.ToLower(r.URL.Path)
	switch {
	case r.Method != http.MethodGet:
		return r.Method
	case strings.HasSuffix(path, "/dnszones"):
		return "zones"
	case strings.HasSuffix(path, "/all"), strings.HasSuffix(path, "/recordsets"):
		return "record sets"
	default:
		return "other"
	}
}
