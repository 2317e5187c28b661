package azure

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// 10,000 records in 50 zones; a twentieth of the records with -short.
func TestCalls(t *testing.T) {
	withFixture(t, func(w *fixture) {
		var zones []string
		for i := range 50 {
			zones = append(zones, fmt.Sprintf("shop%d.test", i))
			w.addZone(zones[i], azuretest.Group)
		}
		counter := &publishertest.Counter{Operation: operation, Writes: map[string]bool{http.MethodPut: true, http.MethodDelete: true}}
		w.Wrap = counter.Wrap
		publishertest.Cheap(t, publishertest.Options{
			Provider: w.open(), Counter: counter, Zones: zones, Names: longtest.CostlyRounds(100),
			Target: func(version int) string { return fmt.Sprintf("192.0.2.%d", version+1) },
		}, len(zones))
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
