package libdns_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
	"github.com/signpostd/signpost/testkit/providertest"
)

// The kit passes whatever SetRecords is good for, and with faults that the provider is told of or
// that do no harm.
func TestConformance(t *testing.T) {
	for name, c := range map[string]struct {
		setting module.Replacing
		faults  libdnstest.Faults
		ttl     func(int64) int64
	}{
		"sets nothing":  {setting: module.NotReplacing},
		"sets with gap": {setting: module.ReplacingWithGap, faults: libdnstest.Faults{IgnoresTTL: true}},
		"sets at once":  {setting: module.ReplacingAtOnce},
		"raises TTLs":   {setting: module.ReplacingAtOnce, faults: libdnstest.Faults{MinTTL: 600e9}, ttl: module.AtLeast(600)},
	} {
		t.Run(name, func(t *testing.T) {
			service, n := libdnstest.NewService(), 0
			service.Faults = c.faults
			m := service.Module(c.setting)
			m.TTL = c.ttl
			without := map[string]string{"throttling": "the module sends nothing over HTTP: moduletest has this check"}
			if c.ttl != nil {
				without["adjusted one by one"] = "the check asks for TTLs that are raised"
			}
			providertest.Run(t, providertest.Options{
				Types: m.Types, Without: without,
				Open: func(t *testing.T, in provider.Input) providertest.Fixture {
					n++
					name := fmt.Sprintf("z%d.example.test", n)
					f := providertest.Fixture{
						Provider: open(t, in, m), Zone: name, Child: "sub." + name, Reverse: fmt.Sprintf("%d.10.in-addr.arpa", n),
						Reopen: func(t *testing.T) provider.Provider { return open(t, in, m) },
					}
					for _, z := range []string{f.Zone, f.Child, f.Reverse} {
						service.AddZone(z)
					}
					return f
				},
				Rejects: func(zone string) []*dns.RecordSet {
					return slices.Concat(providertest.Impossible(zone), []*dns.RecordSet{
						{Name: zone, Type: dns.TypeCNAME, Targets: []string{"lb.example.net"}},
						{Name: "two." + zone, Type: dns.TypeCNAME, Targets: []string{"lb1.example.net", "lb2.example.net"}},
						{Name: "service." + zone, Type: dns.TypeSRV, Targets: []string{"10 5 443 lb.example.net."}},
						{Name: "other." + zone, Type: "CAA", Targets: []string{`0 issue "ca.example"`}},
					})
				},
			})
		})
	}
}
