package aws

import (
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

func keyOf(raw *types.ResourceRecordSet) dns.Key {
	return dns.Key{Name: dns.Canonical(plainName(aws.ToString(raw.Name))), Type: string(raw.Type), SetIdentifier: aws.ToString(raw.SetIdentifier)}
}

// listed returns the listed form of a record set, or nil if its type is unsupported.
func (m mapping) listed(raw *types.ResourceRecordSet) *dns.RecordSet {
	if !slices.Contains(handled, string(raw.Type)) {
		return nil
	}
	key := keyOf(raw)
	r := &dns.RecordSet{Name: key.Name, Type: key.Type, SetIdentifier: key.SetIdentifier, Properties: routingOf(raw)}
	if raw.HealthCheckId != nil {
		r.Properties = append(r.Properties, dns.Property{Name: propertyHealthCheck, Value: *raw.HealthCheckId})
	}
	switch {
	case raw.AliasTarget != nil:
		m.listAlias(r, raw.AliasTarget)
	case raw.TrafficPolicyInstanceId != nil && len(raw.ResourceRecords) == 0:
		// Such a record set has no values, but must be listed.
		r.TTL = aws.ToInt64(raw.TTL)
		r.Targets = []string{*raw.TrafficPolicyInstanceId}
	default:
		r.TTL = aws.ToInt64(raw.TTL)
		for _, v := range raw.ResourceRecords {
			r.Targets = append(r.Targets, provider.ListedValue(r.Type, aws.ToString(v.Value), listedText))
		}
		if r.Type == dns.TypeCNAME {
			r.Properties = append(r.Properties, dns.Property{Name: dns.PropertyAlias, Value: string(dns.AliasFalse)})
		}
	}
	r.Properties = dns.RetainProperties(r.Properties, []string{prefix})
	return r.Normal()
}

// listAlias adds the target of an alias. The target's zone is only listed if it differs from the one that
// aliasZone returns.
func (m mapping) listAlias(r *dns.RecordSet, target *types.AliasTarget) {
	name := plainName(aws.ToString(target.DNSName))
	r.Targets, r.TTL = []string{name}, defaultTTL
	r.Properties = append(r.Properties, dns.Property{Name: dns.PropertyAlias, Value: string(dns.AliasTrue)},
		dns.Property{Name: propertyEvaluate, Value: strconv.FormatBool(target.EvaluateTargetHealth)})
	if zone := aws.ToString(target.HostedZoneId); zone != aliasZone(m.Zone, name) {
		r.Properties = append(r.Properties, dns.Property{Name: propertyTargetZone, Value: zone})
	}
}

// plain reports whether the listed form of a record set has everything that a DELETE needs.
func (m mapping) plain(raw *types.ResourceRecordSet, listed *dns.RecordSet) bool {
	again, err := m.wire(listed)
	return err == nil && len(again) == 1 && m.Same(&again[0], raw)
}

// Key implements [batch.Format].
func (mapping) Key(raw *rawSet) (dns.Key, bool) {
	return keyOf(raw), slices.Contains(handled, string(raw.Type))
}

// Same implements [batch.Format].
func (mapping) Same(a, b *rawSet) bool { return reflect.DeepEqual(a, b) }

// Listed implements [batch.Format].
func (m mapping) Listed(raw *rawSet) (*dns.RecordSet, bool) {
	r := m.listed(raw)
	return r, m.plain(raw, r)
}

// Wire implements [batch.Format].
func (m mapping) Wire(r *dns.RecordSet) (*rawSet, error) {
	stored, err := m.wire(r)
	if err != nil {
		return nil, err
	}
	if len(stored) != 1 || keyOf(&stored[0]) != r.Key() {
		return nil, errors.New("the record set becomes an alias, but wasn't adjusted")
	}
	return &stored[0], nil
}

// Unsupported implements [batch.Format].
func (mapping) Unsupported(raw *rawSet) string {
	if !unsupportedRouting(raw) {
		return ""
	}
	return "a routing policy by address blocks or by a traffic policy, which Signpost leaves alone: remove it"
}

// adjusted returns the listed form of a wanted record set.
func (m mapping) adjusted(r *dns.RecordSet) ([]*dns.RecordSet, error) {
	stored, err := m.wire(r)
	if err != nil {
		return nil, err
	}
	sets := make([]*dns.RecordSet, len(stored))
	for i := range stored {
		set := m.listed(&stored[i])
		set.Labels, set.Objects = r.Labels, r.Objects
		sets[i] = set
	}
	return sets, nil
}
