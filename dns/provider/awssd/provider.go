package awssd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

var (
	_ provider.Provider       = (*cloudMap)(nil)
	_ provider.Adjuster       = (*cloudMap)(nil)
	_ provider.DomainFilterer = (*cloudMap)(nil)
)

// cloudMap implements provider.Provider, provider.Adjuster and provider.DomainFilterer.
type cloudMap struct {
	batch.KnownZones[namespace]
	account *account
	filter  provider.ZoneFilter
	log     *slog.Logger
	names   provider.ZoneNames
	tags    []types.Tag
	ownerID string
	// cleanup deletes listed services that are ours and empty. drop deletes a service after its last
	// instance.
	cleanup, drop bool

	mu sync.Mutex
	// noRevisions is until when no revisions are requested.
	noRevisions time.Time
}

const (
	// batchSize limits the changes of one call of Apply, and batchTime its time. Cloud Map needs up to a
	// minute for an operation.
	batchSize = 500
	batchTime = 15 * time.Minute
)

// Capabilities implements provider.Provider. Requests to Cloud Map have no conditions, except that a new name
// must be free.
func (p *cloudMap) Capabilities() provider.Capabilities {
	return provider.Capabilities{Stepwise: true, ByTarget: true, Types: handled, BatchSize: batchSize, BatchTime: batchTime, ListingTime: provider.MeteredListingTime}
}

// Records implements provider.Provider.
func (p *cloudMap) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	_, n, err := p.Find(ctx, zone)
	if err != nil {
		return nil, err
	}
	sets, err := p.read(ctx, n)
	if err != nil {
		if errors.Is(err, errNoNamespace) {
			p.Outdate()
		}
		return nil, fmt.Errorf("read namespace %s of Cloud Map: %w", n.Name, err)
	}
	return sets, nil
}

// Adjust implements provider.Adjuster.
func (p *cloudMap) Adjust(_ context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) {
		fit, err := adjusted(zone, r)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", provider.ErrRejected, err)
		}
		return fit, nil
	}), nil
}
