package google

import (
	"fmt"
	"reflect"
	"slices"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// propertyPolicy marks record sets with a routing policy. No wanted record set has it, so such a set never
// counts as up to date.
const propertyPolicy = "google/routing-policy"

func keyOf(raw *dnsapi.ResourceRecordSet) dns.Key {
	return dns.Key{Name: dns.Canonical(raw.Name), Type: raw.Type}
}

// listed returns the listed form of a record set of a supported type.
func listed(raw *dnsapi.ResourceRecordSet) *dns.RecordSet {
	key := keyOf(raw)
	r := &dns.RecordSet{Name: key.Name, Type: key.Type, TTL: raw.Ttl}
	for _, v := range raw.Rrdatas {
		r.Targets = append(r.Targets, provider.ListedValue(r.Type, v, listedText))
	}
	if policy := policyOf(raw); policy != "" {
		// Such a record set has no values of its own, but must be listed.
		r.Properties = []dns.Property{{Name: propertyPolicy, Value: policy}}
		r.Targets = policyTargets(raw)
	}
	return r.Normal()
}

// policyOf returns the kind of a record set's routing policy, or "".
func policyOf(raw *dnsapi.ResourceRecordSet) string {
	switch p := raw.RoutingPolicy; {
	case p == nil:
		return ""
	case p.Wrr != nil:
		return "wrr"
	case p.Geo != nil:
		return "geo"
	case p.PrimaryBackup != nil:
		return "primaryBackup"
	}
	return "unknown"
}

// policyTargets returns the values among which a routing policy chooses. For a policy that chooses among load
// balancers, it returns the kind of the policy.
func policyTargets(raw *dnsapi.ResourceRecordSet) []string {
	var targets []string
	add := func(datas []string) {
		for _, v := range datas {
			targets = append(targets, provider.ListedValue(raw.Type, v, listedText))
		}
	}
	p := raw.RoutingPolicy
	geo := p.Geo
	if p.PrimaryBackup != nil {
		geo = p.PrimaryBackup.BackupGeoTargets
	}
	if p.Wrr != nil {
		for _, item := range p.Wrr.Items {
			add(item.Rrdatas)
		}
	}
	if geo != nil {
		for _, item := range geo.Items {
			add(item.Rrdatas)
		}
	}
	if len(targets) == 0 {
		return []string{policyOf(raw)}
	}
	return dns.UniqueSorted(targets)
}

// plain reports whether the listed form of a record set has everything that a deletion needs.
func plain(zone dns.Zone, raw *dnsapi.ResourceRecordSet, listed *dns.RecordSet) bool {
	again, err := wire(zone, listed)
	return err == nil && raw.RoutingPolicy == nil && again.Name == raw.Name && again.Ttl == raw.Ttl && slices.Equal(again.Rrdatas, raw.Rrdatas)
}

// Key implements [batch.Format]. Record sets of Cloud DNS have no set identifiers.
func (*managedZone) Key(raw *rawSet) (dns.Key, bool) {
	return keyOf(raw), slices.Contains(handled, raw.Type)
}

// Same implements [batch.Format]. The order of values means nothing.
func (*managedZone) Same(a, b *rawSet) bool {
	if a == nil || b == nil {
		return a == b
	}
	return keyOf(a) == keyOf(b) && a.Ttl == b.Ttl && slices.Equal(dns.UniqueSorted(a.Rrdatas), dns.UniqueSorted(b.Rrdatas)) && reflect.DeepEqual(a.RoutingPolicy, b.RoutingPolicy)
}

// Listed implements [batch.Format].
func (z *managedZone) Listed(raw *rawSet) (*dns.RecordSet, bool) {
	r := listed(raw)
	return r, plain(z.Zone, raw, r)
}

// Wire implements [batch.Format].
func (z *managedZone) Wire(r *dns.RecordSet) (*rawSet, error) { return wire(z.Zone, r) }

// Unsupported implements [batch.Format].
func (*managedZone) Unsupported(raw *rawSet) string {
	policy := policyOf(raw)
	if policy == "" {
		return ""
	}
	return fmt.Sprintf("a routing policy (%s), which Signpost leaves alone: remove the policy, or ask for another name", policy)
}

// adjusted returns the listed form of a wanted record set.
func adjusted(zone dns.Zone, r *dns.RecordSet) (*dns.RecordSet, error) {
	raw, err := wire(zone, r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrRejected, err)
	}
	set := listed(raw)
	set.Labels, set.Objects = r.Labels, r.Objects
	return set, nil
}
