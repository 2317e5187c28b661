package pdns

import (
	"context"
	"fmt"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// list lists the zones of the server.
func (p *powerDNS) list(ctx context.Context) (all []batch.Found[dns.Zone], unlisted, err error) {
	infos, err := p.api.zones(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list the zones of PowerDNS: %w", err)
	}
	zones := make([]dns.Zone, len(infos))
	for i, info := range infos {
		zones[i] = dns.Zone{ID: info.ID, Name: dns.Canonical(info.Name)}
	}
	zones = provider.Usable(&p.names, p.log, zones, func(z dns.Zone) dns.Zone { return z })
	return batch.Plain(zones, p.admits), nil, nil
}

// admits reports whether a zone is managed. Filters may omit the final dot of an ID.
func (p *powerDNS) admits(zone dns.Zone) bool {
	bare := zone
	bare.ID = strings.TrimSuffix(zone.ID, ".")
	return p.filter.Admits(zone) || p.filter.Admits(bare)
}
