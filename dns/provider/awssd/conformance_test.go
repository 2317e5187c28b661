package awssd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/cloudmaptest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestConformance(t *testing.T) {
	server := start(t)
	namespaces := 0
	fresh := func(t *testing.T, name, kind string) (string, string) {
		namespaces++
		id := fmt.Sprintf("ns-%d", namespaces)
		server.AddNamespace(cloudmaptest.Namespace{ID: id, Name: name, Type: kind})
		t.Cleanup(func() { server.DeleteNamespace(id) })
		return name, id
	}
	providertest.Run(t, providertest.Options{
		Types: handled,
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			zone, id := fresh(t, fmt.Sprintf("z%d.example.test", namespaces), cloudmaptest.Public)
			child, _ := fresh(t, "sub."+zone, cloudmaptest.Public)
			return providertest.Fixture{
				Provider: open(t, in), Zone: zone, Child: child, Lookup: lookup(server, id, zone),
				Reopen: func(t *testing.T) provider.Provider { return open(t, in) },
			}
		},
		Twins: func(t *testing.T, in provider.Input) providertest.Fixture {
			fresh(t, "twin.example.test", cloudmaptest.Private)
			zone, _ := fresh(t, "twin.example.test", cloudmaptest.Public)
			return providertest.Fixture{Provider: open(t, in), Zone: zone}
		},
		Rejects: func(zone string) []*dns.RecordSet {
			return slices.Concat(providertest.Impossible(zone), []*dns.RecordSet{
				{Name: zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
				{Name: "*." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
				{Name: "a@b." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
				{Name: "_." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
				{Name: "text." + zone, Type: dns.TypeTXT, Targets: []string{`"text"`}},
				{Name: "two." + zone, Type: dns.TypeCNAME, Targets: []string{"a.example.net", "b.example.net"}},
				{Name: "ttl." + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}, TTL: 1 << 31},
				{Name: strings.Repeat("long.", 26) + zone, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
			})
		},
		Without: map[string]string{
			"wildcard":            "Cloud Map has no wildcards",
			"deletions are exact": "it has a wildcard; TestExactDeletions",
			"longest label":       "two of them are longer than the name of a service may be; TestNames",
		},
	})
}

// lookup reads what the records of a service are like.
func lookup(server *cloudmaptest.Server, namespace, zone string) providertest.Lookup {
	return func(_ context.Context, name, recordType string) (providertest.Answer, error) {
		var response providertest.Answer
		for label, s := range server.Services(namespace) {
			if !strings.EqualFold(label+"."+zone, dns.Canonical(name)) {
				continue
			}
			for _, r := range s.Config.DNSRecords {
				if r.Type != recordType {
					continue
				}
				seen := map[string]bool{}
				for _, attributes := range s.Instances {
					value := attributes[map[string]string{"A": attributeIPv4, "AAAA": attributeIPv6, "CNAME": attributeCNAME}[recordType]]
					if recordType == dns.TypeCNAME {
						value += "."
					}
					if !seen[value] {
						response.TTL, response.Values = r.TTL, append(response.Values, value)
					}
					seen[value] = true
				}
			}
		}
		return response, nil
	}
}
