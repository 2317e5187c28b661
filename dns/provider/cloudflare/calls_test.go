package cloudflare

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/testkit/cloudflaretest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// 10,000 records in 50 zones: what an idle hour costs beside ExternalDNS, which lists the zones and
// reads each of them every minute (spec/clouds.md §0.7), and how soon a change is sent.
func TestCalls(t *testing.T) {
	inWorld(t, free, func(w *world) {
		w.server.DeleteZone(w.zone)
		var zones []string
		for i := range 50 {
			zones = append(zones, fmt.Sprintf("shop%d.test", i))
			w.server.AddZone(cloudflaretest.Zone{Name: zones[i], Plan: free})
		}
		counter := &publishertest.Counter{Operation: operation, Writes: map[string]bool{"batch": true}}
		w.wrap = counter.Wrap
		f := publishertest.Measure(w.t, publishertest.Options{
			Provider: w.open(), Counter: counter, Zones: zones, Names: 100,
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
	switch {
	case strings.HasSuffix(r.URL.Path, "/dns_records/batch"):
		return "batch"
	case strings.HasSuffix(r.URL.Path, "/dns_records"):
		return "records"
	case strings.HasSuffix(r.URL.Path, "/zones"):
		return "zones"
	default:
		return "other"
	}
}
