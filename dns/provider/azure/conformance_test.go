package azure

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestConformance(t *testing.T) {
	for name, private := range map[string]bool{"public": false, "private": true} {
		t.Run(name, func(t *testing.T) { conform(t, private) })
	}
}

func conform(t *testing.T, private bool) {
	server := azuretest.New()
	address, ca := start(t, server)
	file := "--azure-config-file=" + settingsFile(t, address, nil)
	zones := 0
	fresh := func(t *testing.T, name string) string {
		zones++
		if private {
			server.AddPrivateZone(name, azuretest.Group)
		} else {
			server.AddZone(name, azuretest.Group)
		}
		t.Cleanup(func() { server.DeleteZone(name) })
		return name
	}
	types := publicTypes
	if private {
		types = privateTypes
	}
	providertest.Run(t, providertest.Options{
		Types: types,
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			in.TLS.CA = ca
			zone := fresh(t, fmt.Sprintf("z%d.example.test", zones))
			return providertest.Fixture{
				Provider: open(t, in, private, file), Zone: zone, Child: fresh(t, "sub."+zone), Reverse: fresh(t, fmt.Sprintf("%d.10.in-addr.arpa", zones)),
				Reopen: func(t *testing.T) provider.Provider { return open(t, in, private, file) },
			}
		},
		Rejects: func(zone string) []*dns.RecordSet {
			many := make([]string, 21)
			for i := range many {
				many[i] = fmt.Sprintf("192.0.2.%d", i)
			}
			return slices.Concat(providertest.Impossible(zone), []*dns.RecordSet{
				{Name: zone, Type: dns.TypeCNAME, Targets: []string{"lb.example.net"}},
				{Name: "a-*." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
				{Name: "x.*." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
				{Name: "a/b." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
				{Name: "many." + zone, Type: dns.TypeA, Targets: many},
				{Name: "long." + zone, Type: dns.TypeTXT, Targets: []string{`"` + strings.Repeat("x", maxText+1) + `"`}},
				{Name: "other." + zone, Type: dns.TypeNAPTR, Targets: []string{`100 10 "U" "E2U+sip" "!^.*$!sip:info@example.net!" .`}},
			})
		},
		Properties: []string{propertyMetadata + "x"},
		Without:    map[string]string{"properties": "metadata is listed with the names of all its keys: TestTags"},
	})
}
