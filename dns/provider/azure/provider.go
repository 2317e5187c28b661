package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// Limits of the units of a zone that are made in parallel. If two writers change a private zone, Azure
// responds with 429 to the second one (spec/clouds.md §5).
const (
	publicWorkers  = 8
	privateWorkers = 1
)

const (
	// changesPerWorker limits the changes of one worker in one call of Apply, and applyTime the time of that
	// call. Azure may ask for pauses of up to a minute.
	changesPerWorker = 100
	applyTime        = 10 * time.Minute
)

var (
	_ provider.Provider       = (*azureProvider)(nil)
	_ provider.Adjuster       = (*azureProvider)(nil)
	_ provider.DomainFilterer = (*azureProvider)(nil)
)

// azureProvider implements provider.Provider, provider.Adjuster and provider.DomainFilterer.
type azureProvider struct {
	batch.KnownZones[azureZone]
	account *account
	private bool
	filter  filter
	// workers limits the units that are made in parallel.
	workers int
}

// types returns the record types of the zones.
func (p *azureProvider) types() []string {
	if p.private {
		return privateTypes
	}
	return publicTypes
}

// Capabilities implements [provider.Provider]. NS is listed for private zones although they have none, so
// that Adjust refuses such a record set and the user sees an error (AZ6).
func (p *azureProvider) Capabilities() provider.Capabilities {
	types := p.types()
	if p.private {
		types = append(slices.Clone(types), dns.TypeNS)
	}
	return provider.Capabilities{Conditional: true, Stepwise: true, Types: types, Properties: []string{prefix}, BatchSize: p.workers * changesPerWorker, BatchTime: applyTime, ListingTime: provider.MeteredListingTime}
}

// Records implements [provider.Provider].
func (p *azureProvider) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	_, z, err := p.Find(ctx, zone)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	sets, err := p.account.list(ctx, z.Zone, z.name)
	if err == nil {
		err = z.refreshUncertain(ctx)
	}
	if err != nil {
		p.outdate(err)
		return nil, fmt.Errorf("read zone %s of Azure: %w", z.name, err)
	}
	return z.take(sets, begun), nil
}

// Adjust implements [provider.Adjuster].
func (p *azureProvider) Adjust(_ context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	m := mapping{Zone: zone, types: p.types()}
	return provider.AdjustEach(wanted, m.adjusted), nil
}

// outdate makes the next call list the zones again if an error says that a zone is missing.
func (p *azureProvider) outdate(err error) {
	if response, ok := errors.AsType[*apiError](err); ok && response.status == http.StatusNotFound {
		p.Outdate()
	}
}

// rejected returns the error for a record set that Azure can't store.
func rejected(r *dns.RecordSet, err error) error {
	return fmt.Errorf("%w: %s %s: %w", provider.ErrRejected, r.Name, r.Type, err)
}
