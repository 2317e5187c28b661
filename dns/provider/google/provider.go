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
	batch.KnownZones[managedZone]
	api    *client
	filter provider.ZoneFilter
	// limit limits a request, and interval is the pause between two requests of one Apply.
	limit    size
	interval time.Duration
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

// Records implements provider.Provider.
func (p *cloudDNS) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	_, z, err := p.Find(ctx, zone)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	sets, err := p.api.sets(ctx, z.Zone)
	if err != nil {
		if errors.Is(err, provider.ErrStale) {
			p.Outdate()
		}
		return nil, fmt.Errorf("read zone %s of Cloud DNS: %w", z.Name, err)
	}
	return z.Take(z, sets, begun), nil
}

// Adjust implements provider.Adjuster.
func (p *cloudDNS) Adjust(_ context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) { return adjusted(zone, r) }), nil
}
