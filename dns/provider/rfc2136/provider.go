package rfc2136

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Provider reads and writes zones of DNS servers.
type Provider struct {
	// zones are the zones by canonical name.
	zones   map[string]*zone
	servers *servers
	// listing and updating are the positions of both kinds of requests in the list of servers.
	listing, updating turn
	dialer            dialer
	axfr              bool
	minTTL            int64
	batch             int
	log               *slog.Logger
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Adjuster = (*Provider)(nil)
	_ provider.Batcher  = (*Provider)(nil)
)

// Zones implements [provider.Provider]. It returns the zones of the settings.
func (p *Provider) Zones(context.Context) ([]dns.Zone, error) {
	zones := make([]dns.Zone, 0, len(p.zones))
	for _, z := range p.zones {
		zones = append(zones, z.Zone)
	}
	slices.SortFunc(zones, func(a, b dns.Zone) int { return cmp.Compare(a.Name, b.Name) })
	return zones, nil
}

// Adjust implements [provider.Adjuster]. Names and targets get the form in which DNS servers
// return them, TTLs are raised to the minimum, and fields that DNS doesn't have are removed.
func (p *Provider) Adjust(_ context.Context, wanted []*dns.RecordSet) ([]*dns.RecordSet, error) {
	list := make([]*dns.RecordSet, len(wanted))
	for i, r := range wanted {
		list[i] = adjusted(r, p.minTTL)
	}
	return list, nil
}

// Batch implements [provider.Batcher].
func (p *Provider) Batch() (size int, interval time.Duration) { return p.batch, 0 }

func (p *Provider) find(z dns.Zone) (*zone, error) {
	found := p.zones[dns.Canonical(z.Name)]
	if found == nil {
		return nil, fmt.Errorf("%w: %q is not one of the zones of --rfc2136-zone", provider.ErrRejected, z.Name)
	}
	return found, nil
}

// closest returns the zone that contains a name, or nil.
func (p *Provider) closest(name string) *zone {
	z, _ := dns.ClosestZone(p.zones, name)
	return z
}
