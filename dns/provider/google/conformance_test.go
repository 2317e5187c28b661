package google

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestConformance(t *testing.T) {
	prepare(t)
	server := clouddnstest.New()
	zones := 0
	fresh := func(t *testing.T, name string, private bool) string {
		zones++
		zone := clouddnstest.Zone{Name: fmt.Sprintf("zone-%d", zones), DNSName: name, Private: private}
		server.AddZone(zone)
		t.Cleanup(func() { server.DeleteZone(zone.Name) })
		return name
	}
	with := func(in provider.Input) provider.Input {
		wrap := in.Wrap
		in.Wrap = func(http.RoundTripper) http.RoundTripper { return wrap(server.Transport()) }
		return in
	}
	providertest.Run(t, providertest.Options{
		Types: handled,
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			zone := fresh(t, fmt.Sprintf("z%d.example.test", zones), false)
			return providertest.Fixture{
				Provider: open(t, with(in)), Zone: zone, Child: fresh(t, "sub."+zone, false), Reverse: fresh(t, fmt.Sprintf("%d.10.in-addr.arpa", zones), false),
				Reopen: func(t *testing.T) provider.Provider { return open(t, with(in)) },
			}
		},
		Twins: func(t *testing.T, in provider.Input) providertest.Fixture {
			fresh(t, "twin.example.test", true)
			return providertest.Fixture{Provider: open(t, with(in)), Zone: fresh(t, "twin.example.test", false)}
		},
		Rejects: func(zone string) []*dns.RecordSet {
			return slices.Concat(providertest.Impossible(zone), []*dns.RecordSet{
				{Name: "in@side." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
				{Name: zone, Type: dns.TypeCNAME, Targets: []string{"lb.example.net"}},
			})
		},
	})
}
