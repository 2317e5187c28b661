package pdns

import (
	"context"
	"fmt"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// partition splits the zones of the server into managed and other ones.
type partition struct {
	managed []dns.Zone
	// all finds the zone of a name among all zones.
	all    *dns.ZoneFinder
	admits map[string]bool
}

// Zones implements provider.Provider.
func (p *powerDNS) Zones(ctx context.Context) ([]dns.Zone, error) {
	parts, err := p.divide(ctx)
	if err != nil {
		return nil, err
	}
	return parts.managed, nil
}

// DomainFilter implements provider.DomainFilterer. A name in an unmanaged zone of the server can't
// be written into a managed zone above it.
func (p *powerDNS) DomainFilter(ctx context.Context) dns.Filter {
	parts, err := p.known(ctx)
	if err != nil {
		// Zones returns the error. While no zone is known, no name is selected.
		return &partition{all: dns.NewZoneFinder(nil)}
	}
	return parts
}

// divide lists the zones of the server.
func (p *powerDNS) divide(ctx context.Context) (*partition, error) {
	infos, err := p.api.zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones of PowerDNS: %w", err)
	}
	parts := &partition{admits: map[string]bool{}}
	all := make([]dns.Zone, len(infos))
	for i, info := range infos {
		all[i] = dns.Zone{ID: info.ID, Name: dns.Canonical(info.Name)}
	}
	all = provider.Usable(&p.names, p.log, all, func(z dns.Zone) dns.Zone { return z })
	for _, zone := range all {
		if p.admits(zone) {
			parts.managed = append(parts.managed, zone)
			parts.admits[zone.ID] = true
		}
	}
	p.budget.Retain(parts.managed)
	parts.all = dns.NewZoneFinder(all)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts = parts
	return parts, nil
}

// known returns the zones at the last listing, and lists them the first time.
func (p *powerDNS) known(ctx context.Context) (*partition, error) {
	p.mu.Lock()
	parts := p.parts
	p.mu.Unlock()
	if parts != nil {
		return parts, nil
	}
	return p.divide(ctx)
}

// admits reports whether a zone is managed. Filters may omit the final dot of an ID.
func (p *powerDNS) admits(zone dns.Zone) bool {
	return p.domains.Match(zone.Name) && p.zoneNames.Match(zone.Name) &&
		(p.zoneIDs.Match(zone.ID) || p.zoneIDs.Match(strings.TrimSuffix(zone.ID, ".")))
}

// Match implements dns.Filter.
func (s *partition) Match(name string) bool {
	zone, ok := s.all.Find(name)
	return ok && s.admits[zone.ID]
}
