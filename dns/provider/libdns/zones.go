package libdns

import (
	"context"

	"github.com/signpostd/signpost/dns"
)

// partition is the zones of the account, divided into those to manage and the others.
type partition struct {
	managed []dns.Zone
	// all finds the zone of a name among all zones.
	all    *dns.ZoneFinder
	admits map[string]bool
}

// divide lists the zones.
func (a *adapter) divide(ctx context.Context) (*partition, error) {
	all, err := a.list(ctx)
	if err != nil {
		return nil, err
	}
	return a.zones.Replace(func(*partition) *partition { return a.arrange(all) }), nil
}

// arrange returns the partition of zones that were found.
func (a *adapter) arrange(all []dns.Zone) *partition {
	parts := &partition{all: dns.NewZoneFinder(all), admits: map[string]bool{}}
	for _, zone := range all {
		if !parts.admits[zone.ID] && a.domains.Match(zone.Name) && a.zoneNames.Match(zone.Name) && a.zoneIDs.Match(zone.ID) {
			parts.managed = append(parts.managed, zone)
			parts.admits[zone.ID] = true
		}
	}
	return parts
}

// DomainFilter implements [provider.DomainFilterer]. A name in a zone of the account that isn't
// managed can't be had in a managed zone above it.
func (a *adapter) DomainFilter(ctx context.Context) dns.Filter {
	parts, err := a.zones.Known(ctx, a.divide)
	if err != nil {
		// Zones returns the error. As long as no zone is known, no name passes.
		return &partition{all: dns.NewZoneFinder(nil)}
	}
	return parts
}

// Match implements [dns.Filter].
func (p *partition) Match(name string) bool {
	zone, ok := p.all.Find(name)
	return ok && p.admits[zone.ID]
}
