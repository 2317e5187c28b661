package rfc2136

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
)

// Provider reads and writes zones of DNS servers.
type Provider struct {
	// zones are the zones by canonical name.
	zones   map[string]*zone
	servers *servers
	// listing and updating are the positions of both kinds of requests in the list of servers.
	listing, updating rotation
	dialer            dialer
	axfr              bool
	minTTL            int64
	batch             int
	log               *slog.Logger
	budget            *listlimit.Budget
}

var (
	_ provider.Provider         = (*Provider)(nil)
	_ provider.Adjuster         = (*Provider)(nil)
	_ provider.NameServerLister = (*Provider)(nil)
	_ provider.Prober           = (*Provider)(nil)
)

// Capabilities implements [provider.Provider].
func (p *Provider) Capabilities() provider.Capabilities {
	return provider.Capabilities{Conditional: true, Blind: !p.axfr, BatchSize: p.batch, Types: slices.Sorted(maps.Keys(rrTypes))}
}

// Zones implements [provider.Provider]. It returns the zones of the settings.
func (p *Provider) Zones(context.Context) ([]dns.Zone, error) {
	zones := make([]dns.Zone, 0, len(p.zones))
	for _, z := range p.zones {
		zones = append(zones, z.Zone)
	}
	slices.SortFunc(zones, func(a, b dns.Zone) int { return cmp.Compare(a.Name, b.Name) })
	return zones, nil
}

// Adjust implements [provider.Adjuster]. Names and targets get the form in which DNS servers return
// them, TTLs are raised to the minimum, and fields that DNS lacks are removed.
func (p *Provider) Adjust(_ context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) {
		return adjusted(r, p.minTTL)
	}), nil
}

// NameServers implements [provider.NameServerLister]. Servers with TLS are queried at the standard
// port.
func (p *Provider) NameServers() []string {
	if p.dialer.tls == nil {
		return slices.Clone(p.servers.addresses)
	}
	var addresses []string
	for _, address := range p.servers.addresses {
		if host, _, err := net.SplitHostPort(address); err == nil {
			addresses = append(addresses, net.JoinHostPort(host, "53"))
		}
	}
	return addresses
}

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
