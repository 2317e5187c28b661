package google

import (
	"context"
	"fmt"
	"strconv"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// maxID limits a zone's resource name in characters.
const maxID = 63

// managedZone is a zone to publish to. Its value stays the same as long as Cloud DNS lists it. Its ID is its
// resource name, such as shop-test.
type managedZone struct {
	dns.Zone
	number uint64
	batch.ZoneCache[rawSet]
}

// filter selects the managed zones.
type filter struct {
	domains dns.Filter
	ids     dns.ZoneIDFilter
	names   *dns.DomainFilter
	// visibility is public, private, or "" for both.
	visibility string
}

// admits reports whether a zone is managed. Zones whose records come from another network, other servers,
// Service Directory or machines are not.
func (f filter) admits(z dns.Zone, raw *dnsapi.ManagedZone) bool {
	switch {
	case raw.PeeringConfig != nil, raw.ForwardingConfig != nil, raw.ServiceDirectoryConfig != nil, raw.ReverseLookupConfig != nil:
		return false
	case f.visibility != "" && (f.visibility == zonePrivate) != z.Private:
		return false
	}
	return f.domains.Match(z.Name) && f.names.Match(z.Name) && (f.ids.Match(z.ID) || f.ids.Match(strconv.FormatUint(raw.Id, 10)))
}

// list lists the zones of the project.
func (p *cloudDNS) list(ctx context.Context) (*batch.List[managedZone], error) {
	raw, err := p.api.zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones of Cloud DNS: %w", err)
	}
	var all []batch.Found[managedZone]
	for _, r := range raw {
		zone := dns.Zone{ID: r.Name, Name: dns.Canonical(r.DnsName), Private: r.Visibility == zonePrivate}
		// A private zone for all names has an empty name.
		if len(zone.ID) > maxID || zone.Name != "" && dns.CheckName(zone.Name) != nil {
			continue
		}
		// Private zones have separate clients, so an unmanaged one hides no names of another.
		if managed := p.filter.admits(zone, r); managed || !zone.Private {
			all = append(all, batch.Found[managedZone]{Zone: zone, Of: &managedZone{Zone: zone, number: r.Id}, Managed: managed})
		}
	}
	return p.Replace(all, nil, func(a, b *managedZone) bool { return a.Zone == b.Zone && a.number == b.number }), nil
}
