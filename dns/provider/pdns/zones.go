package pdns

import (
	"context"
	"fmt"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// Zones implements provider.Provider.
func (p *powerDNS) Zones(ctx context.Context) ([]dns.Zone, error) {
	parts, err := p.divide(ctx)
	if err != nil {
		return nil, err
	}
	return parts.Managed, nil
}

// DomainFilter implements [provider.DomainFilterer]. The filter selects no name in an unmanaged
// zone, because a managed zone above it can't hold that name.
func (p *powerDNS) DomainFilter(ctx context.Context) dns.Filter {
	// Zones returns the error. Without a listing, no name is selected.
	parts, _ := p.zones.Known(ctx, p.divide)
	return parts.Filter()
}

// divide lists the zones of the server.
func (p *powerDNS) divide(ctx context.Context) (*batch.List[dns.Zone], error) {
	infos, err := p.api.zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones of PowerDNS: %w", err)
	}
	all := make([]dns.Zone, len(infos))
	for i, info := range infos {
		all[i] = dns.Zone{ID: info.ID, Name: dns.Canonical(info.Name)}
	}
	all = provider.Usable(&p.names, p.log, all, func(z dns.Zone) dns.Zone { return z })
	parts := batch.ReplacePlain(&p.zones, all, p.admits)
	p.budget.Retain(parts.Managed)
	return parts, nil
}

// admits reports whether a zone is managed. Filters may omit the final dot of an ID.
func (p *powerDNS) admits(zone dns.Zone) bool {
	return p.domains.Match(zone.Name) && p.zoneNames.Match(zone.Name) &&
		(p.zoneIDs.Match(zone.ID) || p.zoneIDs.Match(strings.TrimSuffix(zone.ID, ".")))
}
