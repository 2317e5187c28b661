package google

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
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

// zoneList is the result of one listing of zones. It never changes.
type zoneList struct {
	// managed are the zones to publish to, and byID the same by ID.
	managed []*managedZone
	byID    map[string]*managedZone
	// public finds the zone of a name among all public zones of the project, and private among the managed
	// private ones. Private zones have separate clients, so an unmanaged one hides no names of another.
	public, private *dns.ZoneFinder
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
func (p *cloudDNS) list(ctx context.Context) (*zoneList, error) {
	raw, err := p.api.zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones of Cloud DNS: %w", err)
	}
	return p.zones.Replace(func(before *zoneList) *zoneList { return p.arrange(before, raw) }), nil
}

// arrange returns the list for the zones of a listing.
func (p *cloudDNS) arrange(before *zoneList, raw []*dnsapi.ManagedZone) *zoneList {
	next := &zoneList{byID: map[string]*managedZone{}}
	var public, private []dns.Zone
	for _, r := range raw {
		zone := dns.Zone{ID: r.Name, Name: dns.Canonical(r.DnsName), Private: r.Visibility == zonePrivate}
		// A private zone for all names has an empty name.
		if len(zone.ID) > maxID || zone.Name != "" && dns.CheckName(zone.Name) != nil {
			continue
		}
		managed := p.filter.admits(zone, r)
		if managed {
			next.byID[zone.ID] = before.keep(zone, r.Id)
		}
		switch {
		case !zone.Private:
			public = append(public, zone)
		case managed:
			private = append(private, zone)
		}
	}
	next.public, next.private = dns.NewZoneFinder(public), dns.NewZoneFinder(private)
	next.managed = slices.SortedFunc(maps.Values(next.byID), byName)
	return next
}

func byName(a, b *managedZone) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

// keep returns the zone of the previous list, or a new one. It may be called on nil.
func (l *zoneList) keep(zone dns.Zone, number uint64) *managedZone {
	if l != nil {
		if z := l.byID[zone.ID]; z != nil && z.Zone == zone && z.number == number {
			return z
		}
	}
	return &managedZone{Zone: zone, number: number}
}

// Match implements [dns.Filter]: a zone of the name has to be managed. Nil selects no name.
func (l *zoneList) Match(name string) bool {
	if l == nil {
		return false
	}
	for _, zone := range l.public.FindAll(name) {
		if l.byID[zone.ID] != nil {
			return true
		}
	}
	return len(l.private.FindAll(name)) > 0
}
