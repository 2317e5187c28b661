package azure

import (
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// A publisher and a person change a public or a private zone, with too many requests, failures
// before and after a change was made, lost connections, refusals and missing rights.
func TestFaults(t *testing.T) { publishertest.Schedules(t, 10, playFaults) }

func playFaults(t *testing.T, seed uint64) {
	w := newFixture(t, seed%2 == 0)
	w.addZone(zoneName, azuretest.Group)
	put := func(r *dns.RecordSet, properties azuretest.Properties) {
		w.server.Set(zoneName, azuretest.RecordSet{Name: strings.TrimSuffix(r.Name, "."+zoneName), Type: r.Type, Properties: properties})
	}
	s := publishertest.NewSchedule(publishertest.Cloud{
		Fixture: w.Fixture, Zones: []string{zoneName}, MostLag: 8 * time.Second, Sets: w.sets,
		Put: func(r *dns.RecordSet) {
			put(r, azuretest.Properties{TTL: &r.TTL, A: []azuretest.A{{Address: r.Targets[0]}}})
		},
		Remove: func(r *dns.RecordSet) { put(r, azuretest.Properties{}) },
		// A refused type change isn't retried at once.
		Recovery: 10 * provider.FirstSwapPause,
	}, seed)
	w.Wrap = s.OtherServer
	w.server.SetHooks(azuretest.Hooks{
		Before: func(c azuretest.Call) *azuretest.Fault {
			if c.Writes() && s.Bad() == c.Name+"."+zoneName {
				return azuretest.Refused
			}
			return publishertest.Pick(
				s, azuretest.Failed, azuretest.Lost, azuretest.Throttled(0), azuretest.Throttled(1+s.N(20)), azuretest.Throttled(100), &azuretest.Fault{Status: 503, Code: "ServiceUnavailable"},
				&azuretest.Fault{Status: 403, Code: "AuthorizationFailed"}, &azuretest.Fault{Status: 409, Code: "Conflict", Bare: true}, nil, nil,
			)
		},
		After: func(c azuretest.Call) *azuretest.Fault {
			if c.Writes() {
				s.Check()
			}
			return publishertest.Pick(s, azuretest.Failed, azuretest.Lost, &azuretest.Fault{Status: 504, Code: "GatewayTimeout"}, nil)
		},
	})
	s.Play()
}

// sets returns what the zone has.
func (w *fixture) sets() (all []*dns.RecordSet) {
	for _, r := range w.server.Sets(zoneName) {
		set := &dns.RecordSet{Name: r.Name + "." + zoneName, Type: r.Type, TTL: *r.TTL, Targets: r.Texts()}
		for _, v := range r.A {
			set.Targets = append(set.Targets, v.Address)
		}
		for _, v := range r.AAAA {
			set.Targets = append(set.Targets, v.Address)
		}
		if r.CNAME != nil {
			set.Targets = append(set.Targets, r.CNAME.Name)
		}
		all = append(all, set)
	}
	return all
}
