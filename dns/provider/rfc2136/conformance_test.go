package rfc2136

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/providertest"
)

// conformingZones are the zones of the fixtures that conform opens: three for each.
func conformingZones() (zones []bindtest.Zone) {
	const fixtures = 120
	for i := range fixtures {
		zones = append(zones, bindtest.Zone{Name: fmt.Sprintf("k%d.test", i)}, bindtest.Zone{Name: fmt.Sprintf("sub.k%d.test", i)}, bindtest.Zone{Name: fmt.Sprintf("%d.168.192.in-addr.arpa", i)})
	}
	return zones
}

func TestConformance(t *testing.T) {
	zones := conformingZones()
	conform(t, bind(t, bindtest.Config{Zones: zones}).Addr.Port(), zones)
}

// Faults, row 22: another server that speaks RFC 2136.
func TestConformanceKnot(t *testing.T) {
	zones := conformingZones()
	conform(t, knot(t, zones), zones)
}

// conform runs the tests of all providers with a server at a port of this machine.
func conform(t *testing.T, port uint16, zones []bindtest.Zone) {
	next := 0
	providertest.Run(t, providertest.Options{
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			f := providertest.Fixture{
				Zone: zones[3*next].Name, Child: zones[3*next+1].Name, Reverse: zones[3*next+2].Name, Lookup: providertest.DNS(fmt.Sprintf("127.0.0.1:%d", port)),
			}
			next++
			c := settings(nil, func(c *Config) { c.Port, c.Zones = int(port), []string{f.Zone, f.Child, f.Reverse} })
			f.Provider = openWith(t, c, in)
			f.Reopen = func(t *testing.T) provider.Provider { return openWith(t, c, in) }
			return f
		},
		Types: slices.Sorted(maps.Keys(rrTypes)),
		Rejects: func(zone string) []*dns.RecordSet {
			at := func(recordType string, targets ...string) *dns.RecordSet {
				return &dns.RecordSet{Name: "bad." + zone, Type: recordType, Targets: targets}
			}
			return []*dns.RecordSet{
				at("A", "not-an-address"), at("A", "2001:db8::1"), at("AAAA", "192.0.2.1"), at("AAAA", "fe80::1%eth0"), at("A"),
				at("CNAME", "a.example.net", "b.example.net"), at("CNAME", ""), at("CNAME", "two..dots"),
				at("MX", "mail.example.net"), at("MX", "65536 mail.example.net"), at("SRV", "1 2 host.example.net."),
				at("TXT", `"open`), at("TXT", `"a" b`), at("TXT", `"\256"`), at("NAPTR", `1 2 "U" "S" .`),
				at("CAA", `0 issue "ca.example.net"`), at("SOA", "a. b. 1 2 3 4 5"),
				{Name: "ttl." + zone, Type: "A", Targets: []string{"192.0.2.1"}, TTL: maxTTL + 1},
				{Name: "bad..name." + zone, Type: "A", Targets: []string{"192.0.2.1"}},
			}
		},
	})
}
