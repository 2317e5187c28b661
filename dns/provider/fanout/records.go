package fanout

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Records implements [provider.Provider].
func (p *Provider) Records(ctx context.Context, dnsZone dns.Zone) ([]*dns.RecordSet, error) {
	z, err := p.find(dnsZone.Name)
	if err != nil {
		return nil, err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	clear(z.has)
	if err := p.read(ctx, z); err != nil {
		return nil, fmt.Errorf("list zone %s: %w", z.Name, err)
	}
	return z.list(), nil
}

// read lists the zone at the providers whose records are unknown.
func (p *Provider) read(ctx context.Context, z *zone) error {
	return withNames(p.each(func(i int, member provider.Provider) error {
		if z.has[i] != nil {
			return nil
		}
		list, err := member.Records(ctx, z.parts[i])
		if err != nil {
			return err
		}
		has := make(map[dns.Key]*dns.RecordSet, len(list))
		for _, r := range list {
			// The provider's zone may be larger, or contain other zones.
			if closest := p.closest(r.Name); closest != nil && closest.Name == z.Name {
				has[r.Key()] = r
			}
		}
		z.has[i] = has
		return nil
	}))
}

// list returns the record sets that all providers have.
func (z *zone) list() []*dns.RecordSet {
	keys := map[dns.Key]bool{}
	for _, has := range z.has {
		for k := range has {
			keys[k] = true
		}
	}
	// A change is finished when no provider has the record set any more.
	maps.DeleteFunc(z.unfinished, func(k dns.Key, _ bool) bool { return !keys[k] })
	var list []*dns.RecordSet
	for k := range keys {
		if r := z.combine(k); r != nil {
			list = append(list, r)
		}
	}
	return list
}

// combine returns the record set with a key if all providers have it, or nil.
func (z *zone) combine(key dns.Key) *dns.RecordSet {
	var first *dns.RecordSet
	agree, sameTTL, sameProperties := true, true, true
	for _, has := range z.has {
		r := has[key]
		switch {
		case r == nil:
			agree = false
		case first == nil:
			first = r
		default:
			agree = agree && first.SameTargets(r)
			sameTTL = sameTTL && first.TTL == r.TTL
			sameProperties = sameProperties && slices.Equal(first.Properties, r.Properties)
		}
	}
	switch {
	case agree, first == nil:
		// All providers have the same, or nothing.
		delete(z.unfinished, key)
	case !z.unfinished[key]:
		return nil
	}
	if first == nil || agree && sameTTL && sameProperties {
		return first
	}
	combined := *first
	if !sameTTL {
		// No wanted TTL equals zero.
		combined.TTL = 0
	}
	if !sameProperties {
		combined.Properties = nil
	}
	if !agree {
		combined.Properties = append(slices.Clone(combined.Properties), dns.Property{Name: Unfinished, Value: "true"})
	}
	return &combined
}
