package aws

import (
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/publishertest"
	"github.com/signpostd/signpost/testkit/route53test"
)

// 10,000 records in 50 zones; a twentieth of the records with -short.
func TestCalls(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.SetPropagation(40 * time.Second)
		var zones []string
		for i := range 50 {
			zones = append(zones, fmt.Sprintf("shop%d.test", i))
			w.server.AddZone(route53test.Zone{ID: fmt.Sprintf("Z%d", 100+i), Name: zones[i]})
		}
		counter := &publishertest.Counter{Operation: operation, Writes: map[string]bool{writes: true}}
		w.Wrap = counter.Wrap
		const names = 100 // each with an ownership record
		publishertest.Cheap(t, publishertest.Options{
			Provider: w.open(), Counter: counter, Zones: zones, Names: longtest.CostlyRounds(names),
			Target: func(version int) string { return fmt.Sprintf("192.0.2.%d", version+1) },
		}, len(zones)+1)
	})
}

func operation(r *http.Request) string {
	switch {
	case strings.Contains(r.URL.Path, "/change/"):
		return "GetChange"
	case r.Method == http.MethodPost:
		return writes
	case strings.HasSuffix(r.URL.Path, "/rrset"):
		return readings
	default:
		return "ListHostedZones"
	}
}

var schedules = flag.Int("aws.schedules", 10, "how many schedules of faults to play")

// Requests that fail in all ways cost nobody's record.
func TestFaults(t *testing.T) {
	for seed := range uint64(longtest.Rounds(*schedules)) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			withFixture(t, func(w *fixture) {
				publishertest.Faults(t, publishertest.Cloud{
					// Listings that lag are in TestListingsBehind: after a lost answer they mislead the
					// look at what was made.
					Zone: zoneName, Sets: w.sets,
					Open: func(wrap func(http.RoundTripper) http.RoundTripper) provider.Provider {
						w.Wrap = wrap
						return w.open()
					},
					Put: func(r *dns.RecordSet) {
						w.server.Put("Z1", route53test.RecordSet{Name: r.Name, Type: r.Type, TTL: new(int64(300)), ResourceRecords: []route53test.Value{{Value: r.Targets[0]}}})
					},
					Throttled: func(r *http.Request) *http.Response {
						return publishertest.Answer(r, http.StatusBadRequest, `<ErrorResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error><RequestId>1</RequestId></ErrorResponse>`)
					},
				}, seed)
			})
		})
	}
}

// sets returns what the zone Z1 has.
func (w *fixture) sets() []*dns.RecordSet {
	var sets []*dns.RecordSet
	for _, raw := range w.server.Sets("Z1") {
		r := &dns.RecordSet{Name: dns.Canonical(strings.TrimSuffix(raw.Name, ".")), Type: raw.Type}
		for _, v := range raw.ResourceRecords {
			r.Targets = append(r.Targets, v.Value)
		}
		sets = append(sets, r)
	}
	return sets
}
