package awssd

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

// Attributes of instances for DNS (API Reference, API_RegisterInstance).
const (
	attributeAlias = "AWS_ALIAS_DNS_NAME"
	attributeCNAME = "AWS_INSTANCE_CNAME"
	attributeIPv4  = "AWS_INSTANCE_IPV4"
	attributeIPv6  = "AWS_INSTANCE_IPV6"
)

const (
	// defaultTTL is the default TTL in seconds.
	defaultTTL = 300
	mostTTL    = math.MaxInt32
	// maxTargets limits the instances of a service (Developer Guide, cloud-map-limits).
	maxTargets = 1000
	// maxIDLength and maxNameLength limit the ID of an instance and the name of a service, in characters.
	maxIDLength   = 64
	maxNameLength = 127
)

// handled are the supported record types. Services with SRV records need more than a record set has.
var handled = []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME}

type service struct {
	id string
	// label is the name within the namespace, as it was created.
	label, description string
	// config is nil if the service has no records.
	config *types.DnsConfig
	health *types.HealthCheckConfig
	// empty is true if the listing showed no instances.
	empty bool
}

type instance struct {
	id         string
	attributes map[string]string
}

// size returns the memory of the instance in bytes, with its listed form.
func (i instance) size() int {
	n := entrySize + len(i.id)
	for name, value := range i.attributes {
		n += listlimit.TargetSize(name) + listlimit.TargetSize(value)
	}
	return n
}

// fullName returns the canonical name of the records of a service.
func fullName(zone dns.Zone, label string) string { return dns.Canonical(label + "." + zone.Name) }

// ttls returns the TTLs of the service by record type.
func (s *service) ttls() map[string]int64 {
	ttls := map[string]int64{}
	if s.config != nil {
		for _, r := range s.config.DnsRecords {
			ttls[string(r.Type)] = aws.ToInt64(r.TTL)
		}
	}
	return ttls
}

func (s *service) policy() types.RoutingPolicy {
	if s.config == nil {
		return ""
	}
	// This policy is Cloud Map's default.
	return cmp.Or(s.config.RoutingPolicy, types.RoutingPolicyMultivalue)
}

// sets returns the record sets of a service. A service with unsupported records, such as SRV, is listed as if
// its instances had addresses, so that the name counts as used.
func (s *service) sets(zone dns.Zone, instances []instance) []*dns.RecordSet {
	ttls := s.ttls()
	other := !slices.ContainsFunc(handled, func(t string) bool { _, ok := ttls[t]; return ok })
	targets := map[string][]string{}
	add := func(recordType, made, target string) {
		_, makes := ttls[made]
		if target != "" && (makes || other) && !slices.Contains(targets[recordType], target) {
			targets[recordType] = append(targets[recordType], target)
		}
	}
	for _, i := range instances {
		add(dns.TypeA, dns.TypeA, i.attributes[attributeIPv4])
		add(dns.TypeAAAA, dns.TypeAAAA, i.attributes[attributeIPv6])
		add(dns.TypeCNAME, dns.TypeCNAME, i.attributes[attributeCNAME])
		alias := i.attributes[attributeAlias]
		if add(dns.TypeCNAME, dns.TypeA, alias); !slices.Contains(targets[dns.TypeCNAME], alias) {
			add(dns.TypeCNAME, dns.TypeAAAA, alias)
		}
	}
	var sets []*dns.RecordSet
	for _, recordType := range handled {
		if len(targets[recordType]) == 0 {
			continue
		}
		ttl, ok := ttls[recordType]
		if !ok && s.config != nil && len(s.config.DnsRecords) > 0 {
			ttl = aws.ToInt64(s.config.DnsRecords[0].TTL)
		}
		r := &dns.RecordSet{Name: fullName(zone, s.label), Type: recordType, TTL: ttl, Targets: targets[recordType]}
		if s.description != "" {
			r.Labels = map[string]string{dns.LabelDescription: s.description}
		}
		sets = append(sets, r.Normal())
	}
	return sets
}

// blueprint is the wanted state of a service.
type blueprint struct {
	records   []types.DnsRecord
	routing   types.RoutingPolicy
	instances map[string]map[string]string
}

// fits reports whether a service has the right record types, which can't be changed.
func (b *blueprint) fits(s *service) bool {
	ttls := s.ttls()
	return s.policy() == b.routing && len(ttls) == len(b.records) &&
		!slices.ContainsFunc(b.records, func(r types.DnsRecord) bool { _, ok := ttls[string(r.Type)]; return !ok })
}

// sameTTLs reports whether a fitting service has the right TTLs.
func (b *blueprint) sameTTLs(s *service) bool {
	ttls := s.ttls()
	return !slices.ContainsFunc(b.records, func(r types.DnsRecord) bool { return ttls[string(r.Type)] != *r.TTL })
}

// newBlueprint returns the blueprint for the adjusted record sets of a name.
func newBlueprint(sets []*dns.RecordSet) (*blueprint, error) {
	b := &blueprint{routing: types.RoutingPolicyMultivalue, instances: map[string]map[string]string{}}
	targets := map[string][]string{}
	for _, r := range sets {
		ttl, recordType := r.TTL, r.Type
		targets[r.Type] = r.Targets
		if r.Type == dns.TypeCNAME {
			if len(sets) > 1 {
				return nil, errors.New("a CNAME can't be beside records of other types")
			}
			b.routing = types.RoutingPolicyWeighted
			attribute := attributeCNAME
			if isLoadBalancer(r.Targets[0]) {
				attribute, recordType = attributeAlias, dns.TypeA
			}
			b.instances[instanceID(r.Targets[0])] = map[string]string{attribute: r.Targets[0]}
		}
		b.records = append(b.records, types.DnsRecord{Type: types.RecordType(recordType), TTL: &ttl})
	}
	slices.SortFunc(b.records, func(x, y types.DnsRecord) int { return strings.Compare(string(x.Type), string(y.Type)) })
	b.addresses(slices.Sorted(slices.Values(targets[dns.TypeA])), slices.Sorted(slices.Values(targets[dns.TypeAAAA])))
	return b, nil
}

// addresses adds the instances for addresses. If a service has A and AAAA records, each instance needs both
// addresses, so addresses of the shorter list are repeated.
func (b *blueprint) addresses(four, six []string) {
	for i := range max(len(four), len(six)) {
		attributes := map[string]string{}
		id := ""
		if len(six) > 0 {
			id = six[i%len(six)]
			attributes[attributeIPv6] = id
		}
		if len(four) > 0 {
			attributes[attributeIPv4] = four[i%len(four)]
			if len(four) >= len(six) {
				id = attributes[attributeIPv4]
			}
		}
		b.instances[instanceID(id)] = attributes
	}
}

func instanceID(target string) string {
	id := strings.ToLower(target)
	if len(id) <= maxIDLength {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// isLoadBalancer reports whether a name is that of an AWS load balancer, for which Cloud Map has aliases:
// NAME.REGION.elb.amazonaws.com, or NAME.elb.REGION.amazonaws.com.
func isLoadBalancer(name string) bool {
	name = dns.Canonical(name)
	rest, ok := strings.CutSuffix(name, ".amazonaws.com")
	if !ok {
		if rest, ok = strings.CutSuffix(name, ".amazonaws.com.cn"); !ok {
			return false
		}
	}
	labels := strings.Split(rest, ".")
	n := len(labels)
	return n >= 3 && (labels[n-1] == "elb" || labels[n-2] == "elb")
}

// labelPattern matches the names of services (API Reference, API_CreateService).
var labelPattern = regexp.MustCompile(`^([a-z0-9_][a-z0-9_-]{0,61}[a-z0-9_]|[a-z0-9])$`)

// labelOf returns the name of the service for a name in a namespace, or why there can be none.
func labelOf(zone dns.Zone, name string) (string, error) {
	label, ok := strings.CutSuffix(name, "."+zone.Name)
	switch {
	case name == zone.Name:
		return "", errors.New("there are no records for the name of a namespace itself at Cloud Map: use a name below it")
	case !ok || label == "":
		return "", fmt.Errorf("the name is not in the namespace %s", zone.Name)
	case label == "*" || strings.HasPrefix(label, "*."):
		return "", errors.New("there are no wildcards at Cloud Map: publish each name by itself")
	case len(label) > maxNameLength:
		return "", fmt.Errorf("the part before the namespace has %d characters, and may have %d at Cloud Map", len(label), maxNameLength)
	}
	for part := range strings.SplitSeq(label, ".") {
		if !labelPattern.MatchString(part) {
			return "", fmt.Errorf("the label %q can't be at Cloud Map: use letters, digits, _ and -, with neither - at an end nor _ alone", part)
		}
	}
	return label, nil
}

// adjusted returns the listed form of a wanted record set.
func adjusted(zone dns.Zone, r *dns.RecordSet) (*dns.RecordSet, error) {
	n := *r.Normal()
	n.SetIdentifier, n.Properties = "", nil
	if n.TTL == 0 {
		n.TTL = defaultTTL
	}
	if n.Type != dns.TypeTXT {
		seen := map[string]bool{}
		n.Targets = slices.DeleteFunc(slices.Clone(n.Targets), func(t string) bool {
			was := seen[t]
			seen[t] = true
			return was
		})
	}
	if err := n.Check(); err != nil {
		return nil, err
	}
	if _, err := labelOf(zone, n.Name); err != nil {
		return nil, err
	}
	switch {
	case !slices.Contains(handled, n.Type):
		return nil, fmt.Errorf("there are no records of the type %s at Cloud Map: it has %s", n.Type, strings.Join(handled, ", "))
	case n.TTL > mostTTL:
		return nil, fmt.Errorf("the TTL %d is too long: Cloud Map has TTLs up to %d", n.TTL, mostTTL)
	case len(n.Targets) > maxTargets:
		return nil, fmt.Errorf("there are %d targets, and a service of Cloud Map has at most %d", len(n.Targets), maxTargets)
	case n.Type == dns.TypeCNAME && len(n.Targets) > 1:
		return nil, fmt.Errorf("a CNAME has one target, and there are %d", len(n.Targets))
	case n.Type == dns.TypeCNAME && dns.TypeOfTarget(n.Targets[0]) != dns.TypeCNAME:
		return nil, fmt.Errorf("the target %s is an address, and a CNAME has a name", n.Targets[0])
	}
	return &n, nil
}

// difference returns the instances that a service lacks or has with other attributes, and the IDs of those
// that it has too many.
func (b *blueprint) difference(now []instance) (missing []instance, surplus []string) {
	there := map[string]map[string]string{}
	for _, i := range now {
		there[i.id] = i.attributes
		if b.instances[i.id] == nil {
			surplus = append(surplus, i.id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.instances)) {
		if has := there[id]; has == nil || !sameAttributes(has, b.instances[id]) {
			missing = append(missing, instance{id, b.instances[id]})
		}
	}
	return missing, surplus
}

func sameAttributes(has, want map[string]string) bool {
	for _, key := range []string{attributeAlias, attributeCNAME, attributeIPv4, attributeIPv6} {
		if has[key] != want[key] {
			return false
		}
	}
	return true
}

// ownerOf returns the owner in the description of a service, or "".
func ownerOf(description string) string {
	const heritage, owner = "heritage=external-dns", "external-dns/owner="
	text, found := "", false
	for part := range strings.SplitSeq(strings.Trim(description, `"`), ",") {
		found = found || part == heritage
		if id, ok := strings.CutPrefix(part, owner); ok {
			text = id
		}
	}
	if !found {
		return ""
	}
	return text
}
