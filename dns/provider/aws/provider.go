package aws

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/signpostd/signpost/dns"
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
	batch.KnownZones[hostedZone]
	accounts              []*account
	filter                filter
	log                   *slog.Logger
	names                 provider.ZoneNames
	preferCNAME, evaluate bool
	// limit limits a batch, and interval is the pause between two batches of one Apply.
	limit    size
	interval time.Duration
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

// Records implements provider.Provider.
func (p *route53Provider) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	_, z, err := p.Find(ctx, zone)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	sets, err := z.account.sets(ctx, z.Zone)
	if err != nil {
		if errors.Is(err, provider.ErrStale) {
			p.Outdate()
		}
		return nil, fmt.Errorf("read zone %s of Route 53: %w", z.Name, err)
	}
	return z.Take(z.mapping, sets, begun), nil
}

// Adjust implements provider.Adjuster.
func (p *route53Provider) Adjust(_ context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	m := mapping{Zone: zone, preferCNAME: p.preferCNAME, evaluate: p.evaluate}
	zones := p.Last()
	list := make([]provider.Adjusted, len(wanted))
	for i, r := range wanted {
		if wantsOtherZone(zones, m.Zone, r) {
			continue
		}
		list[i].Sets, list[i].Err = m.adjusted(r)
	}
	return list, nil
}
