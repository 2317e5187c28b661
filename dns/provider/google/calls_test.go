package google

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// 10,000 records in 50 zones; a twentieth of the records with -short.
func TestCalls(t *testing.T) {
	withFixture(t, func(w *fixture) {
		var zones []string
		for i := range 50 {
			zones = append(zones, fmt.Sprintf("shop%d.test", i))
			w.server.AddZone(clouddnstest.Zone{Name: fmt.Sprintf("shop%d", i), DNSName: zones[i] + "."})
		}
		counter := &publishertest.Counter{Operation: operation, Writes: map[string]bool{"change": true}}
		w.Wrap = counter.Wrap
		publishertest.Cheap(t, publishertest.Options{
			Provider: w.open(), Counter: counter, Zones: zones, Names: longtest.CostlyRounds(100),
			Target: func(version int) string { return fmt.Sprintf("192.0.2.%d", version+1) },
		}, len(zones))
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
