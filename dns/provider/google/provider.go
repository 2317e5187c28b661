package google

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

var (
	_ provider.Provider       = (*cloudDNS)(nil)
	_ provider.Adjuster       = (*cloudDNS)(nil)
	_ provider.DomainFilterer = (*cloudDNS)(nil)
)

// cloudDNS implements provider.Provider, provider.Adjuster and provider.DomainFilterer.
type cloudDNS struct {
	api    *client
	filter filter
	// limit limits a request, and interval is the pause between two requests of one Apply.
	limit    size
	interval time.Duration
	zones    batch.Zones[zoneList]
}

// Limits of one call of Apply, in full requests and in changes.
const (
	applyBatches    = 20
	maxApplyChanges = 5000
)

// Capabilities implements provider.Provider.
func (p *cloudDNS) Capabilities() provider.Capabilities {
	return provider.Capabilities{Conditional: true, Types: handled, BatchSize: min(applyBatches*p.limit.changes, maxApplyChanges), ListingTime: provider.MeteredListingTime}
}

// Zones implements provider.Provider.
func (p *cloudDNS) Zones(ctx context.Context) ([]dns.Zone, error) {
	list, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	zones := make([]dns.Zone, len(list.managed))
	for i, z := range list.managed {
		zones[i] = z.Zone
	}
	p.api.budget.Retain(zones)
	return zones, nil
}

// DomainFilter implements [provider.DomainFilterer]. The filter selects no name before the first listing, and none in
// an unmanaged zone, because a managed zone above it can't hold that name.
func (p *cloudDNS) DomainFilter(context.Context) dns.Filter { return p.zones.Last() }

// find returns a managed zone, and the list that has it.
func (p *cloudDNS) find(ctx context.Context, zone dns.Zone) (*zoneList, *managedZone, error) {
	list, err := p.zones.Known(ctx, p.list)
	if err != nil {
		return nil, nil, err
	}
	if z := list.byID[zone.ID]; z != nil {
		return list, z, nil
	}
	return nil, nil, fmt.Errorf("%w: there is no managed zone %s with the name %s in Cloud DNS", provider.ErrRejected, zone.ID, zone.Name)
}

// Records implements provider.Provider.
func (p *cloudDNS) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	_, z, err := p.find(ctx, zone)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	sets, err := p.api.sets(ctx, z.Zone)
	if err != nil {
		if errors.Is(err, provider.ErrStale) {
			p.zones.Outdate()
		}
		return nil, fmt.Errorf("read zone %s of Cloud DNS: %w", z.Name, err)
	}
	return z.Take(z, sets, begun), nil
}

// Adjust implements provider.Adjuster.
func (p *cloudDNS) Adjust(_ context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) { return adjusted(zone, r) }), nil
}
