package google

import (
	"context"
	"fmt"
	"strconv"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// maxID limits a zone's resource name in characters.
const maxID = 63

// managedZone is a zone to publish to. Its value stays the same as long as Cloud DNS lists it. Its ID is its
// resource name, such as shop-test.
type managedZone struct {
	dns.Zone
	api    *client
	number uint64
	batch.ZoneCache[rawSet]
}

func sameZone(a, b *managedZone) bool { return a.Zone == b.Zone && a.number == b.number }

// admits reports whether a zone is managed. Zones whose records come from another network, other
// servers, Service Directory or machines are not. A filter of IDs may have the name or the number.
func admits(f provider.ZoneFilter, z dns.Zone, raw *dnsapi.ManagedZone) bool {
	if raw.PeeringConfig != nil || raw.ForwardingConfig != nil || raw.ServiceDirectoryConfig != nil || raw.ReverseLookupConfig != nil {
		return false
	}
	byNumber := z
	byNumber.ID = strconv.FormatUint(raw.Id, 10)
	return f.Admits(z) || f.Admits(byNumber)
}

// list lists the zones of the project.
func (p *cloudDNS) list(ctx context.Context) (all []batch.Found[managedZone], unlisted, err error) {
	raw, err := p.api.zones(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list the zones of Cloud DNS: %w", err)
	}
	for _, r := range raw {
		zone := dns.Zone{ID: r.Name, Name: dns.Canonical(r.DnsName), Private: r.Visibility == provider.Private}
		// A private zone for all names has an empty name.
		if len(zone.ID) > maxID || zone.Name != "" && dns.CheckName(zone.Name) != nil {
			continue
		}
		// Private zones have separate clients, so an unmanaged one hides no names of another.
		if managed := admits(p.filter, zone, r); managed || !zone.Private {
			all = append(all, batch.Found[managedZone]{Zone: zone, Of: &managedZone{Zone: zone, api: p.api, number: r.Id}, Managed: managed})
		}
	}
	return all, nil, nil
}
