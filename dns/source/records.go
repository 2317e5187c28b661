package source

import (
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Origin is the common part of all record sets of one object.
type Origin struct {
	Object dns.Object
	// Resource is the label resource; empty means none.
	Resource      string
	TTL           int64
	SetIdentifier string
	Properties    []dns.Property
}

// recordSet returns a record set without a type and targets.
func (o Origin) recordSet(name string) *dns.RecordSet {
	r := &dns.RecordSet{
		Name: name, TTL: o.TTL, SetIdentifier: o.SetIdentifier, Properties: slices.Clone(o.Properties),
		Labels: map[string]string{}, Objects: []dns.Object{o.Object},
	}
	if o.Resource != "" {
		r.Labels[dns.LabelResource] = o.Resource
	}
	return r
}

// Records returns the record sets of a name: A, AAAA and CNAME in this order, if there are targets
// for them (spec/dns.md §1.3). Targets keep their order; duplicates are dropped.
func (o Origin) Records(name string, targets []string) []*dns.RecordSet {
	return o.recordSet(name).PerType(unique(targets))
}

// RecordSet returns a record set of any type with these targets.
func (o Origin) RecordSet(name, recordType string, targets []string) *dns.RecordSet {
	r := o.recordSet(name)
	r.Type, r.Targets = recordType, targets
	return r.Normal()
}

// All returns the record sets of several names with the same targets, sorted. The record sets share
// the targets: an object may have hundreds of names, each at thousands of nodes.
func (o Origin) All(names, targets []string) []*dns.RecordSet {
	names = unique(names)
	if len(targets) == 0 || len(names) == 0 {
		return nil
	}
	first := o.Records(names[0], targets)
	for _, r := range first {
		// A list that is already sorted isn't copied when record sets are merged.
		r.Targets = dns.UniqueSorted(r.Targets)
	}
	sets := slices.Clone(first)
	for _, name := range names[1:] {
		for _, r := range first {
			other := *r
			other.Name = name
			sets = append(sets, other.Normal())
		}
	}
	return sets
}

// pairs returns the record sets of pairs. All targets of a name share its record sets.
func (o Origin) pairs(findings *Findings, pairs []Pair) []*dns.RecordSet {
	var names []string
	targets := map[string][]string{}
	for _, p := range pairs {
		names, targets[p.Name] = append(names, p.Name), append(targets[p.Name], p.Target)
	}
	var sets []*dns.RecordSet
	for _, name := range unique(names) {
		sets = append(sets, o.Records(name, Cut(findings, targets[name], AddressLimit, "--fqdn-target-template"))...)
	}
	return sets
}

// unique returns the non-empty texts, in order and without duplicates.
func unique(texts []string) []string {
	var list []string
	seen := map[string]bool{"": true}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
	return list
}
