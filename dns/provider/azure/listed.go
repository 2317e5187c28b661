package azure

import (
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// listed returns a record set of Azure as Records returns it, or nil if its type isn't handled.
func (m mapping) listed(s *stored) *dns.RecordSet {
	if !slices.Contains(m.types, s.key.recordType) || s.key.name == "" {
		return nil
	}
	r := &dns.RecordSet{Name: m.full(s.key.name), Type: s.key.recordType, TTL: s.ttl, Properties: dns.RetainProperties(listedMetadata(s.metadata), []string{prefix})}
	if s.resource != "" {
		// An alias answers with the addresses of its resource. The stored records mean nothing.
		r.Targets = []string{s.resource}
		return r.Normal()
	}
	for _, v := range s.records {
		r.Targets = append(r.Targets, listedRecord(r.Type, v))
	}
	return r.Normal()
}

// full returns the absolute name for a name relative to the zone.
func (m mapping) full(name string) string {
	zone := dns.Canonical(m.Name)
	if name == apex {
		return zone
	}
	return dns.Canonical(name) + "." + zone
}

func (m mapping) keyOf(r *dns.RecordSet) key {
	name := dns.Canonical(r.Name)
	if zone := dns.Canonical(m.Name); name == zone {
		name = apex
	} else if len(name) > len(zone) {
		name = name[:len(name)-len(zone)-1]
	}
	return key{name: name, recordType: r.Type}
}

// adjusted returns the listed form of a wanted record set.
func (m mapping) adjusted(r *dns.RecordSet) (*dns.RecordSet, error) {
	s, err := m.wire(r)
	if err != nil {
		return nil, rejected(r, err)
	}
	set := m.listed(s)
	set.Labels, set.Objects = r.Labels, r.Objects
	return set, nil
}

// sameContent reports whether two record sets have the same listed form.
func (m mapping) sameContent(a, b *stored) bool {
	x, y := m.listed(a), m.listed(b)
	return sameListed(x, y) && x.TTL == y.TTL && dns.SameProperties(x.Properties, y.Properties)
}

// sameListed reports whether two record sets of one key have the same targets.
func sameListed(a, b *dns.RecordSet) bool {
	return provider.Unchanged([]dns.Change{{Old: a}}, []*dns.RecordSet{b}) == nil
}
