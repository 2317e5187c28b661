package aws

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// unique are the routing policies whose values only one record set of a name and type can have (Route 53 API
// Reference, ResourceRecordSet).
var unique = []string{"latency", "failover", "geolocation"}

// policyOf returns the routing policy that the properties of a record set ask for, or "simple", and the values
// of the properties, which differ from those of other record sets if the policy is in [unique].
func policyOf(r *dns.RecordSet) (policy, values string) {
	for _, p := range routingPolicies {
		if !p.asked(r) {
			continue
		}
		var list []string
		for _, name := range p.properties {
			list = append(list, strings.ToUpper(valueOf(r, name)))
		}
		return p.name, strings.Join(list, " ")
	}
	return "simple", ""
}

// typeOf returns the name and type of a record set that several record sets of Route 53 may have.
func typeOf(r *dns.RecordSet) dns.Key {
	return dns.Key{Name: dns.Canonical(r.Name), Type: r.Type}
}

// takenPolicies are the routing policies that record sets of a name and type have once changes are made.
type takenPolicies struct {
	byPolicy map[string]*dns.RecordSet
	byValues map[string]*dns.RecordSet // by policy and values, of the policies in [unique]
}

// take records the policy of a record set, and its values if they are settled.
func (t takenPolicies) take(r *dns.RecordSet, settled bool) {
	policy, values := policyOf(r)
	t.byPolicy[policy] = r
	if settled && slices.Contains(unique, policy) {
		t.byValues[policy+" "+values] = r
	}
}

// takenOf returns the policies that changes take. Updates that keep theirs come first. Of other changes that
// conflict, the first one takes its policy: updates come before new record sets, and then the set identifier
// decides.
func takenOf(changes []dns.Change) map[dns.Key]takenPolicies {
	taken := map[dns.Key]takenPolicies{}
	var altered, created []*dns.RecordSet
	for _, c := range changes {
		if c.New == nil {
			continue
		}
		key := typeOf(c.New)
		if _, has := taken[key]; !has {
			taken[key] = takenPolicies{byPolicy: map[string]*dns.RecordSet{}, byValues: map[string]*dns.RecordSet{}}
		}
		kept, keptValues := keeps(c)
		if kept {
			taken[key].take(c.New, keptValues)
		}
		switch {
		case keptValues || c.New.IsOwnershipRecord(): // An ownership record is refused with its record set.
		case c.Old != nil:
			altered = append(altered, c.New)
		default:
			created = append(created, c.New)
		}
	}
	bySetIdentifier := func(a, b *dns.RecordSet) int { return cmp.Compare(a.SetIdentifier, b.SetIdentifier) }
	slices.SortStableFunc(altered, bySetIdentifier)
	slices.SortStableFunc(created, bySetIdentifier)
	for _, r := range slices.Concat(altered, created) {
		if of := taken[typeOf(r)]; of.conflict(r) == nil {
			of.take(r, true)
		}
	}
	return taken
}

// keeps reports whether a record set is updated and keeps its routing policy, and also the policy's values.
func keeps(c dns.Change) (policy, values bool) {
	if c.Old == nil {
		return false, false
	}
	was, before := policyOf(c.Old)
	is, now := policyOf(c.New)
	return is == was, is == was && now == before
}

// otherPolicies returns a function that says why a record set can't be written, or nil: in the same changes, another
// record set of its name and type takes another routing policy, or the same value of a policy in [unique]. Route 53
// would refuse both, so that an object with such a policy would prevent the changes of all objects with its name.
func otherPolicies(changes []dns.Change) func(dns.Change) error {
	taken := takenOf(changes)
	return func(c dns.Change) error {
		if c.New == nil || c.New.IsOwnershipRecord() {
			return nil
		}
		if err := taken[typeOf(c.New)].conflict(c.New); err != nil {
			return fmt.Errorf("%w: %w", provider.ErrRejected, err)
		}
		return nil
	}
}

// conflict returns why a record set can't have its routing policy, or nil.
func (t takenPolicies) conflict(r *dns.RecordSet) error {
	policy, values := policyOf(r)
	for _, other := range slices.Sorted(maps.Keys(t.byPolicy)) {
		if other != policy {
			return fmt.Errorf("its routing policy is %s, but other %s records of %s have the policy %s: use the same one, or another name", policy, r.Type, r.Name, other)
		}
	}
	if other := t.byValues[policy+" "+values]; other != nil && other.SetIdentifier != r.SetIdentifier {
		return fmt.Errorf("its routing policy is %s %q, as that of the set identifier %q of %s: use another value, or another name", policy, strings.TrimSpace(values), other.SetIdentifier, r.Name)
	}
	return nil
}

// units groups changes by subject. The record sets that [otherPolicies] refuses are in units of their own.
func (z *hostedZone) units(changes []dns.Change, outside func(name string) error) []*unit {
	return z.Units(z.mapping, changes, otherPolicies(changes), outside)
}
