package aws

import (
	"fmt"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/route53test"
)

func TestConformance(t *testing.T) {
	server := start(t)
	zones := 0
	fresh := func(t *testing.T, name string, private bool) string {
		zones++
		id := fmt.Sprintf("Z%d", zones)
		server.AddZone(route53test.Zone{ID: id, Name: name, Private: private})
		t.Cleanup(func() { server.DeleteZone(id) })
		return name
	}
	providertest.Run(t, providertest.Options{
		Types: handled,
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			zone := fresh(t, fmt.Sprintf("z%d.example.test", zones), false)
			return providertest.Fixture{
				Provider: open(t, in), Zone: zone, Child: fresh(t, "sub."+zone, false), Reverse: fresh(t, fmt.Sprintf("%d.10.in-addr.arpa", zones), false),
				Reopen: func(t *testing.T) provider.Provider { return open(t, in) },
			}
		},
		Twins: func(t *testing.T, in provider.Input) providertest.Fixture {
			fresh(t, "twin.example.test", true)
			return providertest.Fixture{Provider: open(t, in), Zone: fresh(t, "twin.example.test", false)}
		},
		Rejects: func(zone string) []*dns.RecordSet {
			return slices.Concat(providertest.Impossible(zone), []*dns.RecordSet{
				{Name: zone, Type: dns.TypeCNAME, Targets: []string{"lb.example.net"}},
				{Name: "weighted." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}, Properties: []dns.Property{{Name: propertyWeight, Value: "1"}}},
			})
		},
		Without: map[string]string{
			"set identifiers": "a set identifier needs a routing policy at Route 53: TestRoutingFamilies",
			"properties":      "an alias needs a target that Route 53 has: TestAliases",
		},
	})
}
