package google

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// 10,000 records in 50 zones: what an idle hour costs beside ExternalDNS, which lists the zones and
// reads each of them every minute (spec/clouds.md §0.7), and how soon a change is sent.
func TestCalls(t *testing.T) {
	inWorld(t, func(w *world) {
		var zones []string
		for i := range 50 {
			zones = append(zones, fmt.Sprintf("shop%d.test", i))
			w.server.AddZone(clouddnstest.Zone{Name: fmt.Sprintf("shop%d", i), DNSName: zones[i] + "."})
		}
		counter := &publishertest.Counter{Operation: operation, Writes: map[string]bool{"change": true}}
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
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/changes"):
		return "change"
	case strings.HasSuffix(r.URL.Path, "/rrsets"):
		return "record sets"
	case strings.HasSuffix(r.URL.Path, "/managedZones"):
		return "zones"
	default:
		return "other"
	}
}
