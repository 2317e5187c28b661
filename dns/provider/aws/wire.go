package aws

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

const (
	// defaultTTL is the default TTL, and the listed one of aliases, in seconds.
	defaultTTL = 300
	// maxValues limits the values of a record set (Developer Guide, DNSLimitations).
	maxValues     = 400
	maxIdentifier = 128
)

// handled are the supported record types.
var handled = []string{
	dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeNS, dns.TypeMX, dns.TypePTR, dns.TypeSRV, dns.TypeNAPTR, dns.TypeTXT,
}

// known are the supported properties.
var known = []string{
	propertyWeight, propertyRegion, propertyFailover, propertyMultiValue, propertyContinent, propertyCountry, propertySubdivision, propertyNearRegion,
	propertyNearGroup, propertyNearPlace, propertyNearBias, propertyHealthCheck, propertyEvaluate, propertyTargetZone, propertyZone,
}

// mapping converts the record sets of one zone. It implements [batch.Format].
type mapping struct {
	dns.Zone
	// preferCNAME turns off automatic aliases for names of AWS. evaluate says whether aliases follow the
	// health of their target.
	preferCNAME, evaluate bool
}

// wire returns the record sets that Route 53 is to store: one, or two for an alias with both address types.
func (m mapping) wire(r *dns.RecordSet) ([]types.ResourceRecordSet, error) {
	n := withoutAlias(r.Normal())
	if err := m.check(n); err != nil {
		return nil, err
	}
	var list []types.ResourceRecordSet
	for _, recordType := range m.storedTypes(n) {
		raw := types.ResourceRecordSet{Name: aws.String(wireName(n.Name)), Type: types.RRType(recordType)}
		if id, _ := n.Property(propertyHealthCheck); id != "" {
			raw.HealthCheckId = &id
		}
		if err := setRouting(&raw, n); err != nil {
			return nil, err
		}
		if err := m.setContent(&raw, n); err != nil {
			return nil, err
		}
		list = append(list, raw)
	}
	return list, nil
}

// withoutAlias takes the property alias off record sets that can't be aliases. Ownership records
// have the properties of what they describe.
func withoutAlias(n *dns.RecordSet) *dns.RecordSet {
	switch _, said := n.Property(dns.PropertyAlias); {
	case !said, n.Type == dns.TypeA, n.Type == dns.TypeAAAA, n.Type == dns.TypeCNAME:
		return n
	}
	c := *n
	c.DeleteProperty(dns.PropertyAlias)
	return &c
}

// check rejects what Route 53 can't store, and properties without effect.
func (m mapping) check(n *dns.RecordSet) error {
	if !slices.Contains(handled, n.Type) {
		return fmt.Errorf("record sets of the type %s aren't written to Route 53: there are %s", n.Type, strings.Join(handled, ", "))
	}
	if err := n.CheckWith(dns.EscapedCharacters); err != nil && !m.alias(n) {
		return err
	}
	if err := checkName(n.Name); err != nil {
		return fmt.Errorf("the name %q: %w", n.Name, err)
	}
	for _, p := range n.Properties {
		if strings.HasPrefix(p.Name, prefix) && !slices.Contains(known, p.Name) {
			return fmt.Errorf("the property %s is unknown: there are %s", p.Name, strings.Join(known, ", "))
		}
	}
	switch {
	case len(n.Targets) > maxValues:
		return fmt.Errorf("%d targets: Route 53 has %d in a record set: remove some", len(n.Targets), maxValues)
	case len(n.SetIdentifier) > maxIdentifier:
		return fmt.Errorf("the set identifier has %d bytes: it may have %d", len(n.SetIdentifier), maxIdentifier)
	case n.TTL > math.MaxInt32:
		return fmt.Errorf("the TTL of %d s is too large: it must be at most %d", n.TTL, math.MaxInt32)
	case n.Type == dns.TypeCNAME && !m.alias(n) && len(n.Targets) > 1:
		return fmt.Errorf("%d targets: a CNAME has one", len(n.Targets))
	case n.Type == dns.TypeCNAME && !m.alias(n) && n.Name == m.Name:
		return errors.New("a CNAME can't be at the apex of a zone: ask for an alias with the annotation alias, or for addresses")
	}
	if id, asked := n.Property(propertyZone); asked && bareID(id) != bareID(m.ID) {
		return fmt.Errorf("the property %s asks for the zone %s, and the zone of the name is %s: correct it, or choose the zone with --zone-id-filter", propertyZone, id, m.ID)
	}
	return nil
}

// alias reports whether a record set in normal form becomes an alias (spec/clouds.md §1.5).
func (m mapping) alias(n *dns.RecordSet) bool {
	if n.Type != dns.TypeCNAME {
		return n.Alias().For(n.Type)
	}
	switch n.Alias() {
	case dns.AliasNone:
		return !m.preferCNAME && len(n.Targets) > 0 && zoneOfService(n.Targets[0]) != ""
	case dns.AliasFalse:
		return false
	}
	return true
}

func (m mapping) storedTypes(n *dns.RecordSet) []string {
	if n.Type != dns.TypeCNAME || !m.alias(n) {
		return []string{n.Type}
	}
	switch n.Alias() {
	case dns.AliasA:
		return []string{dns.TypeA}
	case dns.AliasAAAA:
		return []string{dns.TypeAAAA}
	}
	return []string{dns.TypeA, dns.TypeAAAA}
}

// setContent gives a record set its values, or the target of an alias.
func (m mapping) setContent(raw *types.ResourceRecordSet, n *dns.RecordSet) error {
	if !m.alias(n) {
		raw.TTL = aws.Int64(cmp.Or(n.TTL, defaultTTL))
		for _, t := range dns.UniqueSorted(wireValues(n)) {
			raw.ResourceRecords = append(raw.ResourceRecords, types.ResourceRecord{Value: aws.String(t)})
		}
		return nil
	}
	if len(n.Targets) != 1 {
		return fmt.Errorf("%d targets: an alias has one", len(n.Targets))
	}
	if dns.TypeOfTarget(n.Targets[0]) != dns.TypeCNAME {
		return fmt.Errorf("the target %s is an address: an alias has a name as its target", n.Targets[0])
	}
	target := dns.Canonical(n.Targets[0])
	if err := dns.CheckName(target); err != nil {
		return fmt.Errorf("the target %q: %w", target, err)
	}
	zone, _ := n.Property(propertyTargetZone)
	if zone = bareID(strings.TrimSpace(zone)); zone == "" {
		if zone = aliasZone(m.Zone, target); zone == "" {
			return fmt.Errorf("an alias can't have the target %s: it is no known name of AWS, and not in the zone %s; give its zone with the annotation aws-target-hosted-zone, or ask for no alias", target, m.Name)
		}
	}
	evaluate, said := n.BoolProperty(propertyEvaluate)
	if !said {
		evaluate = m.evaluate
	}
	raw.AliasTarget = &types.AliasTarget{DNSName: aws.String(wireName(target)), HostedZoneId: &zone, EvaluateTargetHealth: evaluate}
	return nil
}

// wireValues returns the targets of a record set as Route 53 accepts them. Names end with a dot.
func wireValues(n *dns.RecordSet) []string {
	values := make([]string, len(n.Targets))
	for i, t := range n.Targets {
		values[i] = provider.WireValue(n.Type, t, wireText)
	}
	return values
}
