package aws

import (
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// identified is a name with a set identifier.
type identified struct{ subject, setIdentifier string }

// policyOf returns the routing policy that the properties of a record set ask for, or "simple".
func policyOf(r *dns.RecordSet) string {
	for _, p := range routingPolicies {
		if slices.ContainsFunc(p.properties, func(name string) bool { _, has := r.Property(name); return has }) {
			return p.name
		}
	}
	return "simple"
}

// typeOf returns the name and type of a record set that several record sets of Route 53 may have.
func typeOf(r *dns.RecordSet) dns.Key {
	return dns.Key{Name: dns.Canonical(r.Name), Type: r.Type}
}

// otherPolicies returns why record sets can't be written: in the same changes, a record set of their name and
// type is updated and keeps another routing policy. Route 53 would refuse the update, too, so that an object
// with another policy would prevent the changes of all objects with its name.
func otherPolicies(changes []dns.Change) map[identified]error {
	kept := map[dns.Key]*dns.RecordSet{}
	for _, c := range changes {
		if c.Old != nil && c.New != nil && policyOf(c.Old) == policyOf(c.New) {
			kept[typeOf(c.New)] = c.New
		}
	}
	refused := map[identified]error{}
	for _, c := range changes {
		if c.New == nil {
			continue
		}
		if k := kept[typeOf(c.New)]; k != nil && policyOf(k) != policyOf(c.New) {
			refused[identified{c.Subject(), c.New.SetIdentifier}] = fmt.Errorf("%w: its routing policy is %s, but other %s records of %s have the policy %s: use the same one, or another name",
				provider.ErrRejected, policyOf(c.New), c.New.Type, c.New.Name, policyOf(k))
		}
	}
	return refused
}

// units groups changes by subject. The record sets that [otherPolicies] refuses are in units of their own,
// with their ownership records. Without a set identifier, only those that are created are.
func (z *hostedZone) units(changes []dns.Change, outside func(name string) error) []*unit {
	refused := otherPolicies(changes)
	var others []*unit
	var rest []dns.Change
	var places []int
	for i, c := range changes {
		id := identified{c.Subject(), c.RecordSet().SetIdentifier}
		if err := refused[id]; err != nil && (c.Old == nil || id.setIdentifier != "") {
			others = append(others, &unit{Group: &batch.Group{Subject: id.subject, Changes: []dns.Change{c}, Places: []int{i}, Err: err}})
			continue
		}
		rest, places = append(rest, c), append(places, i)
	}
	all := z.Units(z.mapping, rest, outside)
	for _, u := range all {
		for i, place := range u.Places {
			u.Places[i] = places[place]
		}
	}
	return append(all, others...)
}
