package awssd

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/signpostd/signpost/dns"
)

// A service that is made of a blueprint is listed as Adjust has announced, fits its blueprint, and
// differs from it in nothing.
func TestMapping(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	zone := dns.Zone{ID: "ns-1", Name: zoneName}
	addresses := func(format string) (targets []string) {
		for range 1 + random.IntN(5) {
			targets = append(targets, fmt.Sprintf(format, random.IntN(20)))
		}
		return targets
	}
	for range 2000 {
		var wanted []*dns.RecordSet
		switch random.IntN(4) {
		case 0:
			wanted = []*dns.RecordSet{set("a", "CNAME", []string{balancer, "LB.example.net.", "x.elb.eu-west-1.amazonaws.com"}[random.IntN(3)])}
		case 1:
			wanted = []*dns.RecordSet{set("a", "A", "192.0.2.1")}
			wanted[0].Targets = addresses("192.0.2.%d")
		default:
			wanted = []*dns.RecordSet{set("a", "A", "192.0.2.1"), lasting(60, set("a", "AAAA", "2001:db8::1"))}
			wanted[0].Targets, wanted[1].Targets = addresses("192.0.2.%d"), addresses("2001:db8:0:0::%x")
		}
		var fits []*dns.RecordSet
		for _, r := range wanted {
			fit, err := adjusted(zone, r)
			if err != nil {
				t.Fatal(err)
			}
			fits = append(fits, fit)
		}
		b, err := newBlueprint(fits)
		if err != nil {
			t.Fatal(err)
		}
		s := &service{label: "a", description: unownedDescription, config: &types.DnsConfig{DnsRecords: b.records, RoutingPolicy: b.routing}}
		var instances []instance
		for _, id := range slices.Sorted(maps.Keys(b.instances)) {
			instances = append(instances, instance{id, b.instances[id]})
		}
		listed := s.sets(zone, instances)
		missing, surplus := b.difference(instances)
		if len(listed) != len(fits) || !b.fits(s) || !b.sameTTLs(s) || len(missing)+len(surplus) > 0 {
			t.Fatalf("%v is listed as %v; missing %v, surplus %v", fits, listed, missing, surplus)
		}
		for i, r := range listed {
			if r.Key() != fits[i].Key() || r.TTL != fits[i].TTL || !dns.SameTargets(r.Targets, fits[i].Targets) || r.Labels[dns.LabelDescription] != unownedDescription {
				t.Fatalf("%+v is listed as %+v", fits[i], r)
			}
		}
	}
}

// Whatever a service has, it is listed in the form of record sets, or not at all.
func FuzzSets(f *testing.F) {
	f.Add("web", "heritage=external-dns,external-dns/owner=me", "A", int64(60), attributeIPv4, "192.0.2.1")
	f.Add("*", "\"heritage=external-dns\"", "SRV", int64(-1), attributeIPv4, "x y")
	f.Add("é..", "", "", int64(1<<40), attributeAlias, "\x00")
	f.Fuzz(func(t *testing.T, label, description, kind string, ttl int64, attribute, value string) {
		s := &service{label: label, description: description, config: &types.DnsConfig{DnsRecords: []types.DnsRecord{{Type: types.RecordType(kind), TTL: aws.Int64(ttl)}, {}}}}
		for _, r := range s.sets(dns.Zone{Name: zoneName}, []instance{{"i", map[string]string{attribute: value}}, {}}) {
			if r.Normal() != r || len(r.Targets) != 1 || r.Labels[dns.LabelDescription] != description || !slices.Contains(handled, r.Type) {
				t.Errorf("%+v", r)
			}
			if _, err := adjusted(dns.Zone{Name: zoneName}, r); err == nil {
				if _, err := newBlueprint([]*dns.RecordSet{r}); err != nil {
					t.Error(err)
				}
			}
		}
		if id := ownerOf(description); strings.Contains(id, ",") || !strings.Contains(description, id) {
			t.Errorf("owner %q", id)
		}
	})
}
