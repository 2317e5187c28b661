package aws

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/publishertest"
	"github.com/signpostd/signpost/testkit/route53test"
)

// 10,000 records in 50 zones; a twentieth of the records with -short.
func TestCalls(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.SetPropagation(40 * time.Second)
		w.CheckCost(func(i int, name string) {
			w.server.AddZone(route53test.Zone{ID: fmt.Sprintf("Z%d", 100+i), Name: name})
		})
	})
}

// A publisher and a person change a zone, over a server that throttles and fails in all its ways.
func TestFaults(t *testing.T) {
	start(t)
	publishertest.Schedules(t, 10, func(t *testing.T, seed uint64) {
		w := newFixture(t)
		s := publishertest.NewSchedule(publishertest.Cloud{
			// Listings that lag are in TestListingsBehind: after a lost answer they mislead the look at what
			// was made.
			Fixture: w.Fixture, Zones: []string{zoneName}, Sets: w.sets,
			Put: func(r *dns.RecordSet) {
				w.server.Put("Z1", route53test.RecordSet{Name: r.Name, Type: r.Type, TTL: &r.TTL, ResourceRecords: []route53test.Value{{Value: r.Targets[0]}}})
			},
			Remove: func(r *dns.RecordSet) { w.server.Remove("Z1", r.Name, r.Type) },
		}, seed)
		w.Wrap = s.OtherServer
		w.server.SetHooks(route53test.Hooks{
			Before: func(route53test.Call) *route53test.Fault {
				return publishertest.Pick(s, route53test.Throttled, route53test.Prior, route53test.Failed, route53test.Lost, nil)
			},
			After: func(c route53test.Call) *route53test.Fault {
				if c.Operation == writes {
					s.Check()
				}
				return publishertest.Pick(s, route53test.Failed, route53test.Lost, nil)
			},
		})
		s.Play()
	})
}

// sets returns what the zone Z1 has.
func (w *fixture) sets() []*dns.RecordSet {
	var sets []*dns.RecordSet
	for _, raw := range w.server.Sets("Z1") {
		r := &dns.RecordSet{Name: dns.Canonical(raw.Name), Type: raw.Type, TTL: *raw.TTL}
		for _, v := range raw.ResourceRecords {
			r.Targets = append(r.Targets, strings.TrimSuffix(v.Value, "."))
		}
		sets = append(sets, r)
	}
	return sets
}
