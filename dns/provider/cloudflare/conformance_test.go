package cloudflare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestConformance(t *testing.T) {
	for _, plan := range []string{cloudflaretest.Free, cloudflaretest.Pro} {
		t.Run(plan, func(t *testing.T) { conform(t, plan) })
	}
}

func conform(t *testing.T, plan string) {
	server := start(t)
	zones := 0
	fresh := func(t *testing.T, name string) string {
		zones++
		id := server.AddZone(cloudflaretest.Zone{Name: name, Plan: plan})
		t.Cleanup(func() { server.DeleteZone(id) })
		return name
	}
	providertest.Run(t, providertest.Options{
		Types: handled,
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			zone := fresh(t, fmt.Sprintf("z%d.example.test", zones))
			return providertest.Fixture{
				Provider: open(t, in), Zone: zone, Child: fresh(t, "sub."+zone), Reverse: fresh(t, fmt.Sprintf("%d.10.in-addr.arpa", zones)),
				Reopen: func(t *testing.T) provider.Provider { return open(t, in) },
			}
		},
		Rejects: func(zone string) []*dns.RecordSet {
			return slices.Concat(providertest.Impossible(zone), []*dns.RecordSet{
				{Name: "caa." + zone, Type: "CAA", Targets: []string{`0 issue "ca.example.net"`}},
			})
		},
		Properties: []string{propertyComment},
	})
}
