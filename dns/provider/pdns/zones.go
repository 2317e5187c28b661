package pdns

import (
	"context"
	"fmt"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// partition is the zones of the server, divided in those to manage and the others.
type partition struct {
	managed []dns.Zone
	// all finds the zone of a name among both.
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

// DomainFilter implements provider.DomainFilterer: names in a zone of the server that is not to
// be managed can't be had in a zone above it.
func (p *powerDNS) DomainFilter(ctx context.Context) dns.Filter {
	parts, err := p.known(ctx)
	if err != nil {
		// The error is that of Zones. Nothing can be had of zones that are not known.
		return &partition{all: dns.NewZoneFinder(nil)}
	}
	return parts
}

// divide asks the server for its zones.
func (p *powerDNS) divide(ctx context.Context) (*partition, error) {
	infos, err := p.api.zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones of PowerDNS: %w", err)
	}
	parts := &partition{admits: map[string]bool{}}
	all := make([]dns.Zone, 0, len(infos))
	for _, info := range infos {
		zone := dns.Zone{ID: info.ID, Name: dns.Canonical(info.Name)}
		all = append(all, zone)
		if p.admits(zone) {
			parts.managed = append(parts.managed, zone)
			parts.admits[zone.ID] = true
		}
	}
	parts.all = dns.NewZoneFinder(all)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts = parts
	return parts, nil
}

// known returns the zones as they were last, and asks for them if they never were.
func (p *powerDNS) known(ctx context.Context) (*partition, error) {
	p.mu.Lock()
	parts := p.parts
	p.mu.Unlock()
	if parts != nil {
		return parts, nil
	}
	return p.divide(ctx)
}

// admits reports whether a zone is to be managed. The dot at the end of an id may be left
// out in the filter.
func (p *powerDNS) admits(zone dns.Zone) bool {
	return p.domains.Match(zone.Name) && p.zoneNames.Match(zone.Name) &&
		(p.zoneIDs.Match(zone.ID) || p.zoneIDs.Match(strings.TrimSuffix(zone.ID, ".")))
}

// Match implements dns.Filter.
func (s *partition) Match(name string) bool {
	zone, ok := s.all.Find(name)
	return ok && s.admits[zone.ID]
}
