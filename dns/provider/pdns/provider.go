package pdns

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

const (
	// defaultTTL is the TTL of record sets without one, in seconds.
	defaultTTL = 300

	changeReplace = "REPLACE"
	changeDelete  = "DELETE"
)

// handled are the listed record types, beside ALIAS.
var handled = []string{
	dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeNS, dns.TypeMX,
	dns.TypePTR, dns.TypeSRV, dns.TypeNAPTR, dns.TypeTXT, dns.TypeDNAME,
}

var (
	_ provider.Provider       = (*powerDNS)(nil)
	_ provider.Adjuster       = (*powerDNS)(nil)
	_ provider.DomainFilterer = (*powerDNS)(nil)
)

type powerDNS struct {
	batch.KnownZones[dns.Zone]
	api    *api
	filter provider.ZoneFilter
	log    *slog.Logger
	names  provider.ZoneNames
}

// Capabilities implements provider.Provider.
func (p *powerDNS) Capabilities() provider.Capabilities {
	return provider.Capabilities{Types: handled}
}

// Records implements provider.Provider.
func (p *powerDNS) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	sets, err := p.api.zone(ctx, zone)
	if err != nil {
		return nil, fmt.Errorf("read zone %s of PowerDNS: %w", zone.Name, err)
	}
	return recordSets(sets), nil
}

// recordSets returns the record sets to list for those of a zone. A LUA record set is listed as the record sets that it
// answers with, so that none is written beside it. A real record set of the same type counts instead.
func recordSets(there []rrset) []*dns.RecordSet {
	sets := make([]*dns.RecordSet, 0, len(there))
	var computed []*dns.RecordSet
	for _, s := range there {
		if r := s.recordSet(); r != nil {
			sets = append(sets, r)
		}
		if s.Type == typeLUA {
			computed = append(computed, s.computed()...)
		}
	}
	if len(computed) == 0 {
		return sets
	}
	known := make(map[dns.Key]bool, len(sets))
	for _, r := range sets {
		known[r.Key()] = true
	}
	return append(sets, slices.DeleteFunc(computed, func(r *dns.RecordSet) bool { return known[r.Key()] })...)
}

// computed returns the record sets that a LUA record set answers with, which have its code as targets.
func (s rrset) computed() []*dns.RecordSet {
	byType := map[string]*dns.RecordSet{}
	for _, one := range s.Records {
		recordType, code, _ := strings.Cut(one.Content, " ")
		if one.Disabled || !slices.Contains(handled, recordType) {
			continue
		}
		if byType[recordType] == nil {
			byType[recordType] = &dns.RecordSet{Name: dns.Canonical(s.Name), Type: recordType, TTL: s.TTL, Properties: luaProperty()}
		}
		byType[recordType].Targets = append(byType[recordType].Targets, typeLUA+" "+code)
	}
	return slices.Collect(maps.Values(byType))
}

// recordSet returns the record set to list for s, or nil if there is none.
func (s rrset) recordSet() *dns.RecordSet {
	r := &dns.RecordSet{Name: s.Name, Type: s.Type, TTL: s.TTL}
	if s.Type == typeAlias {
		r.Type = dns.TypeCNAME
		r.Properties = aliasProperty()
	}
	if !slices.Contains(handled, r.Type) {
		return nil
	}
	for _, one := range s.Records {
		if !one.Disabled {
			r.Targets = append(r.Targets, one.Content)
		}
	}
	if len(r.Targets) == 0 {
		return nil
	}
	return normal(r)
}

// aliasProperty returns the properties of a record set that is stored as an ALIAS.
func aliasProperty() []dns.Property {
	return []dns.Property{{Name: dns.PropertyAlias, Value: string(dns.AliasTrue)}}
}

// luaProperty returns the properties of a record set that a LUA record answers with. No wanted record set has them.
func luaProperty() []dns.Property { return []dns.Property{{Name: "pdns/lua", Value: "true"}} }

// Adjust implements provider.Adjuster.
func (p *powerDNS) Adjust(_ context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) { return adjust(zone, r), nil }), nil
}

// adjust returns r as it will be listed, or r itself if that is equal. Duplicate records are
// dropped, because PowerDNS refuses them.
func adjust(zone dns.Zone, r *dns.RecordSet) *dns.RecordSet {
	n := normal(r)
	targets := dns.UniqueSorted(n.Targets)
	if len(targets) == len(n.Targets) {
		targets = n.Targets
	}
	var properties []dns.Property
	if storedType(zone, n) == typeAlias {
		properties = aliasProperty()
	}
	if n == r && r.TTL > 0 && r.SetIdentifier == "" && len(targets) == len(r.Targets) && slices.Equal(properties, r.Properties) {
		return r
	}
	c := n.Clone()
	c.Targets, c.Properties, c.SetIdentifier = slices.Clone(targets), properties, ""
	c.TTL = cmp.Or(c.TTL, defaultTTL)
	return c
}

// storedType returns the type with which PowerDNS stores a record set. A CNAME is impossible at the
// apex.
func storedType(zone dns.Zone, r *dns.RecordSet) string {
	if r.Type != dns.TypeCNAME {
		return r.Type
	}
	if r.Alias() == dns.AliasTrue || zone.Name != "" && dns.Canonical(r.Name) == zone.Name {
		return typeAlias
	}
	return r.Type
}

// Apply implements provider.Provider. PowerDNS can't write conditionally, so the zone is read right
// before. It is read completely, because PowerDNS 4.7 omits disabled records of single names. Of
// the changes that aren't stale it makes all or none.
func (p *powerDNS) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if len(changes) == 0 {
		return nil
	}
	parts, err := p.Known(ctx)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := parts.Outside(zone, c.RecordSet().Name); err != nil {
			return err
		}
	}
	sets, err := p.api.zone(ctx, zone)
	if err != nil {
		return fmt.Errorf("read zone %s of PowerDNS before it is changed: %w", zone.Name, provider.Unread(err))
	}
	return provider.ApplyUnchanged(changes, recordSets(sets), func(changes []dns.Change) error {
		return p.patch(ctx, zone, changes, sets)
	})
}

// patch makes all changes or none. there is the zone's current content.
func (p *powerDNS) patch(ctx context.Context, zone dns.Zone, changes []dns.Change, there []rrset) error {
	var deletes, replaces []rrset
	for _, c := range changes {
		gone, come, err := rrsets(zone, c)
		if err != nil {
			return fmt.Errorf("change %s in zone %s: %w", c.RecordSet().Name, zone.Name, err)
		}
		deletes, replaces = append(deletes, gone...), append(replaces, come...)
	}
	if err := p.api.patch(ctx, zone.ID, keepDisabled(inOrder(deletes, replaces), there)); err != nil {
		return fmt.Errorf("make %d changes in zone %s of PowerDNS: %w", len(changes), zone.Name, err)
	}
	return nil
}

// rrsetKey identifies a record set in the API.
type rrsetKey struct{ name, recordType string }

// inOrder returns deletions before replacements. It drops the deletion of a record set that is also
// replaced, because PowerDNS refuses a record set that occurs twice.
func inOrder(deletes, replaces []rrset) []rrset {
	replaced := make(map[rrsetKey]bool, len(replaces))
	for _, r := range replaces {
		replaced[rrsetKey{r.Name, r.Type}] = true
	}
	deletes = slices.DeleteFunc(deletes, func(d rrset) bool { return replaced[rrsetKey{d.Name, d.Type}] })
	return append(deletes, replaces...)
}

// keepDisabled adds the existing disabled records, which aren't listed, to changes of record sets.
// A record set with disabled records is not deleted.
func keepDisabled(changes, there []rrset) []rrset {
	off := map[rrsetKey]rrset{}
	for _, s := range there {
		kept := s
		kept.Records = slices.DeleteFunc(slices.Clone(s.Records), func(r record) bool { return !r.Disabled })
		if len(kept.Records) > 0 {
			off[rrsetKey{s.Name, s.Type}] = kept
		}
	}
	for i, c := range changes {
		kept, some := off[rrsetKey{c.Name, c.Type}]
		if !some {
			continue
		}
		if c.ChangeType == changeDelete {
			changes[i].ChangeType, changes[i].TTL = changeReplace, kept.TTL
		}
		for _, r := range kept.Records {
			// PowerDNS refuses a record that occurs twice.
			if !slices.ContainsFunc(c.Records, func(o record) bool { return o.Content == r.Content }) {
				changes[i].Records = append(changes[i].Records, r)
			}
		}
	}
	return changes
}

// rrsets returns the record sets that a change deletes and replaces.
func rrsets(zone dns.Zone, c dns.Change) (gone, come []rrset, err error) {
	if c.Old != nil && slices.Equal(c.Old.Properties, luaProperty()) {
		return nil, nil, fmt.Errorf("%w: %s has a LUA record, which answers with %s records: remove it, or ask for another name", provider.ErrRejected, c.Old.Name, c.Old.Type)
	}
	if c.Old != nil {
		oldType := storedType(zone, c.Old)
		if c.New == nil || storedType(zone, c.New) != oldType {
			gone = []rrset{{Name: apiName(c.Old), Type: oldType, ChangeType: changeDelete}}
		}
	}
	if c.New == nil {
		return gone, nil, nil
	}
	r := normal(c.New)
	ttl := cmp.Or(r.TTL, defaultTTL)
	if ttl > math.MaxInt32 {
		return nil, nil, fmt.Errorf("%w: the TTL of %d s is too large: it must be at most %d", provider.ErrRejected, ttl, math.MaxInt32)
	}
	set := rrset{Name: apiName(r), Type: storedType(zone, r), TTL: ttl, ChangeType: changeReplace}
	for _, t := range r.Targets {
		set.Records = append(set.Records, record{Content: content(set.Type, t)})
	}
	return gone, append(come, set), nil
}

func apiName(r *dns.RecordSet) string { return dns.Canonical(r.Name) + "." }
