package azure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// anywhere is a name that no domain filter includes by its suffix. It passes only filters that select every
// name.
const anywhere = "anywhere.invalid"

// filter selects the managed zones.
type filter struct {
	domains    dns.Filter
	ids, names []string
	byName     *dns.DomainFilter
}

// admits reports whether a zone is managed: because of its domain and ID, or because of its name
// (spec/clouds.md §4.2).
func (f filter) admits(z dns.Zone) bool {
	if len(f.names) > 0 && f.byName.Match(z.Name) {
		return true
	}
	if len(f.names) > 0 && len(f.ids) == 0 && f.domains.Match(anywhere) {
		// Without other filters, --zone-name-filter decides alone.
		return false
	}
	return f.domains.Match(z.Name) && f.matchesID(z.ID)
}

// matchesID compares suffixes of IDs regardless of case, because Azure's capitals vary.
func (f filter) matchesID(id string) bool {
	return len(f.ids) == 0 || slices.ContainsFunc(f.ids, func(end string) bool { return strings.HasSuffix(strings.ToLower(id), strings.ToLower(end)) })
}

func sameZone(a, b *azureZone) bool { return a.Zone == b.Zone && a.name == b.name }

func (p *azureProvider) list(ctx context.Context) (all []batch.Found[azureZone], unlisted, err error) {
	found, err := p.account.zones(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list the zones of the resource group %s of Azure: %w", p.account.group, err)
	}
	for _, z := range found {
		listed, zone := z, z
		// The version changes with each record, and the known content of the zone must be kept then.
		zone.Version = ""
		if zone.Name = dns.Canonical(z.Name); z.ID == "" || dns.CheckName(zone.Name) != nil {
			continue
		}
		listed.Name = zone.Name
		of := &azureZone{mapping: mapping{Zone: zone, types: p.types()}, account: p.account, name: z.Name, known: map[key]*stored{}, recent: batch.Recent[key, stored]{}, uncertain: map[key]struct{}{}}
		all = append(all, batch.Found[azureZone]{Zone: listed, Of: of, Managed: p.filter.admits(zone)})
	}
	return all, nil, nil
}
