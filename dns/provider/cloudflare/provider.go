package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

var (
	_ provider.Provider       = (*cloudflareProvider)(nil)
	_ provider.Adjuster       = (*cloudflareProvider)(nil)
	_ provider.DomainFilterer = (*cloudflareProvider)(nil)
	_ provider.PartialLister  = (*cloudflareProvider)(nil)
)

// prefix begins the names of all properties.
const prefix = "cloudflare/"

// handled are the supported record types.
var handled = []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeMX, dns.TypeSRV, dns.TypeNS, dns.TypePTR}

const (
	// applyChanges limits the changes of one Apply. Its names are mostly read once.
	applyChanges = 7000
	// maxWarned limits the remembered warnings.
	maxWarned = 1000
)

// cloudflareProvider implements provider.Provider, provider.Adjuster and provider.DomainFilterer.
type cloudflareProvider struct {
	batch.KnownZones[managedZone]
	api           *api
	filter        provider.ZoneFilter
	recordOptions recordOptions
	log           *slog.Logger
	names         provider.ZoneNames

	mu sync.Mutex
	// warned has the warnings that were logged.
	warned map[string]struct{}
}

// Capabilities implements provider.Provider.
func (p *cloudflareProvider) Capabilities() provider.Capabilities {
	return provider.Capabilities{Types: handled, Properties: []string{prefix}, OneName: []string{propertyHostname}, BatchSize: applyChanges, ListingTime: provider.MeteredListingTime}
}

// Records implements provider.Provider.
func (p *cloudflareProvider) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	_, z, err := p.Find(ctx, zone)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	rows, err := p.api.records(ctx, z.Zone, query{})
	if err != nil {
		if errors.Is(err, provider.ErrStale) {
			p.Outdate()
		}
		return nil, fmt.Errorf("read zone %s of Cloudflare: %w", z.Name, err)
	}
	s, err := p.nameSettings(ctx, z)
	if err != nil {
		return nil, fmt.Errorf("read zone %s of Cloudflare: %w", z.Name, err)
	}
	return s.add(z.listed(rows, begun).sets()), nil
}

// warnOnce logs a warning that wasn't logged before.
func (p *cloudflareProvider) warnOnce(key, message string, arguments ...any) {
	p.mu.Lock()
	_, again := p.warned[key]
	if !again {
		if len(p.warned) >= maxWarned {
			clear(p.warned)
		}
		p.warned[key] = struct{}{}
	}
	p.mu.Unlock()
	if !again {
		p.log.Warn(message, arguments...)
	}
}
