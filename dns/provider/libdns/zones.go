package libdns

import (
	"context"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// partitionZones lists the zones, and divides them into managed and unmanaged ones.
func (a *adapter) partitionZones(ctx context.Context) (*batch.List[dns.Zone], error) {
	all, err := a.list(ctx)
	if err != nil {
		return nil, err
	}
	return batch.ReplacePlain(&a.zones, all, a.admits), nil
}

// admits reports whether a zone is managed.
func (a *adapter) admits(zone dns.Zone) bool {
	return a.domains.Match(zone.Name) && a.zoneNames.Match(zone.Name) && a.zoneIDs.Match(zone.ID)
}

// DomainFilter implements [provider.DomainFilterer]. The filter selects no name in an unmanaged
// zone, because a managed zone above it can't hold that name.
func (a *adapter) DomainFilter(ctx context.Context) dns.Filter {
	// Zones returns the error. Without a listing, no name is selected.
	partition, _ := a.zones.Known(ctx, a.partitionZones)
	return partition.Filter()
}
