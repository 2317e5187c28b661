package cloudflare

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/cloudflaretest"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// 10,000 records in 50 zones; a twentieth of the records with -short.
func TestCalls(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.server.DeleteZone(w.zone)
		var zones []string
		for i := range 50 {
			zones = append(zones, fmt.Sprintf("shop%d.test", i))
			w.server.AddZone(cloudflaretest.Zone{Name: zones[i], Plan: free})
		}
		counter := &publishertest.Counter{Operation: operation, Writes: map[string]bool{"batch": true}}
		w.Wrap = counter.Wrap
		publishertest.Cheap(t, publishertest.Options{
			Provider: w.open(), Counter: counter, Zones: zones, Names: longtest.CostlyRounds(100),
			Target: func(version int) string { return fmt.Sprintf("192.0.2.%d", version+1) },
		}, len(zones))
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
