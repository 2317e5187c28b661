package aws

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

var (
	_ provider.Provider       = (*route53Provider)(nil)
	_ provider.Adjuster       = (*route53Provider)(nil)
	_ provider.DomainFilterer = (*route53Provider)(nil)
)

// route53Provider implements provider.Provider, provider.Adjuster and provider.DomainFilterer.
type route53Provider struct {
	accounts []*account
	filter   filter
	log      *slog.Logger
	names    provider.ZoneNames
	budget   *listlimit.Budget
	// cached is how long a list of zones is used.
	cached                time.Duration
	preferCNAME, evaluate bool
	// limit limits a batch, and interval is the pause between two batches of one Apply.
	limit    size
	interval time.Duration
	zones    batch.Zones[zoneList]
}

// Limits of one call of Apply, in full batches and in changes.
const (
	applyBatches    = 20
	maxApplyChanges = 5000
)

// Capabilities implements provider.Provider.
func (p *route53Provider) Capabilities() provider.Capabilities {
	return provider.Capabilities{
		SetIdentifiers: true, Conditional: true, Types: handled, NameCharacters: dns.EscapedCharacters, Properties: []string{prefix},
		BatchSize: min(applyBatches*p.limit.changes, maxApplyChanges), ListingTime: provider.MeteredListingTime,
	}
}

// Zones implements provider.Provider.
func (p *route53Provider) Zones(ctx context.Context) ([]dns.Zone, error) {
	list := p.zones.Fresh(p.cached)
	if list == nil || list.unlisted != nil {
		var err error
		if list, err = p.list(ctx); err != nil {
			return nil, err
		}
	}
	zones := make([]dns.Zone, len(list.managed))
	for i, z := range list.managed {
		zones[i] = z.Zone
		zones[i].Version = list.versions[z.ID]
	}
	p.budget.Retain(zones)
	return zones, nil
}

// Unlisted implements provider.PartialLister.
func (p *route53Provider) Unlisted() error {
	if list := p.zones.Last(); list != nil {
		return list.unlisted
	}
	return nil
}

// DomainFilter implements [provider.DomainFilterer]. The filter selects no name before the first listing, and none in
// an unmanaged zone, because a managed zone above it can't hold that name.
func (p *route53Provider) DomainFilter(context.Context) dns.Filter { return p.zones.Last() }

// find returns a managed zone, and the list that has it.
func (p *route53Provider) find(ctx context.Context, zone dns.Zone) (*zoneList, *hostedZone, error) {
	list, err := p.zones.Known(ctx, p.list)
	if err != nil {
		return nil, nil, err
	}
	if z := list.byID[zone.ID]; z != nil {
		return list, z, nil
	}
	return nil, nil, fmt.Errorf("%w: there is no managed zone %s with the ID %s", provider.ErrRejected, zone.Name, zone.ID)
}

// Records implements provider.Provider.
func (p *route53Provider) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	_, z, err := p.find(ctx, zone)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	sets, err := z.account.sets(ctx, z.Zone)
	if err != nil {
		if errors.Is(err, provider.ErrStale) {
			p.zones.Outdate()
		}
		return nil, fmt.Errorf("read zone %s of Route 53: %w", z.Name, err)
	}
	return z.Take(z.mapping, sets, begun), nil
}

// Adjust implements provider.Adjuster.
func (p *route53Provider) Adjust(_ context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	m := mapping{Zone: zone, preferCNAME: p.preferCNAME, evaluate: p.evaluate}
	zones := p.zones.Last()
	list := make([]provider.Adjusted, len(wanted))
	for i, r := range wanted {
		if zones.wantsOtherZone(m.Zone, r) {
			continue
		}
		list[i].Sets, list[i].Err = m.adjusted(r)
	}
	return list, nil
}
