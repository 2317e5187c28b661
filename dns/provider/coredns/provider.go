package coredns

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/internal/sanitize"
)

// propertyGroup is the property for the group of an entry. CoreDNS returns the entries of one group
// only.
const propertyGroup = "coredns/group"

var (
	_ provider.Provider = (*coreDNS)(nil)
	_ provider.Adjuster = (*coreDNS)(nil)
)

// coreDNS implements provider.Provider and provider.Adjuster.
type coreDNS struct {
	store  *store
	layout layout
	// owner is the owner whose entries are read and written; empty means all.
	owner  string
	log    *slog.Logger
	budget *listlimit.Budget
}

// Capabilities implements provider.Provider.
func (p *coreDNS) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		Conditional: true, Properties: []string{properties.CoreDNS().Prefix},
		Types: []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypePTR},
	}
}

// Zones implements provider.Provider: etcd has no zones.
func (p *coreDNS) Zones(context.Context) ([]dns.Zone, error) { return []dns.Zone{{}}, nil }

// Records implements provider.Provider.
func (p *coreDNS) Records(ctx context.Context, zone dns.Zone) (sets []*dns.RecordSet, err error) {
	prefix := p.layout.prefix
	counted := p.budget.Zone(zone)
	defer func() { counted.End(err) }()
	kvs, _, err := p.store.read(ctx, prefix, clientv3.GetPrefixRangeEnd(prefix), counted)
	if err != nil {
		return nil, err
	}
	l := listing{byKey: map[dns.Key]*dns.RecordSet{}}
	for _, kv := range kvs {
		var s service
		if err := json.Unmarshal(kv.Value, &s); err != nil {
			// CoreDNS can't read it either, so it isn't a record.
			p.log.Debug("Ignore an entry in etcd that CoreDNS can't read", "key", sanitize.Cut(string(kv.Key)), "err", err)
			continue
		}
		if name, ok := p.layout.name(string(kv.Key), &s); ok && (p.owner == "" || s.Owner == p.owner) {
			l.add(name, &s)
		}
	}
	return l.normal(), nil
}

// listing collects record sets from entries.
type listing struct {
	sets  []*dns.RecordSet
	byKey map[dns.Key]*dns.RecordSet
}

// normal returns the record sets.
func (l *listing) normal() []*dns.RecordSet {
	for i, r := range l.sets {
		l.sets[i] = r.Normal()
	}
	return l.sets
}

func (l *listing) add(name string, s *service) {
	if s.Host != "" {
		l.addTarget(dns.Key{Name: name, Type: hostType(name, s.Host)}, s.Host, s)
	}
	if s.Text != "" {
		l.addTarget(dns.Key{Name: name, Type: dns.TypeTXT}, s.Text, s)
	}
}

func (l *listing) addTarget(key dns.Key, target string, s *service) {
	r := l.byKey[key]
	if r == nil {
		r = &dns.RecordSet{Name: key.Name, Type: key.Type, TTL: int64(s.TTL)}
		l.byKey[key] = r
		l.sets = append(l.sets, r)
	}
	if !slices.Contains(r.Targets, target) {
		r.Targets = append(r.Targets, target)
	}
	if s.Group != "" && r.Properties == nil {
		r.Properties = []dns.Property{{Name: propertyGroup, Value: s.Group}}
	}
}

// Adjust implements provider.Adjuster.
func (p *coreDNS) Adjust(_ context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return provider.AdjustEach(wanted, adjust), nil
}

// adjust returns r as it would be listed, or r itself if that is equal.
func adjust(r *dns.RecordSet) (*dns.RecordSet, error) {
	n := r.Normal()
	if err := storable(n); err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrRejected, err)
	}
	targets := n.Targets
	if unique := dns.UniqueSorted(targets); len(unique) != len(targets) {
		targets = unique
	}
	if n.Type == dns.TypePTR && len(targets) > 1 {
		// All targets would have the same key.
		targets = targets[:1]
	}
	var properties []dns.Property
	if group, _ := n.Property(propertyGroup); group != "" {
		properties = []dns.Property{{Name: propertyGroup, Value: group}}
	}
	if n == r && r.SetIdentifier == "" && len(targets) == len(r.Targets) && slices.Equal(properties, r.Properties) {
		return r, nil
	}
	c := n.Clone()
	c.Targets, c.Properties, c.SetIdentifier = slices.Clone(targets), properties, ""
	return c, nil
}
