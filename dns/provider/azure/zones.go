package azure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// zoneList is the result of one listing of zones. It never changes.
type zoneList struct {
	// managed are the zones to publish to, and byID the same by ID.
	managed []*azureZone
	byID    map[string]*azureZone
	// versions has the number of record sets by zone ID.
	versions map[string]string
	// all finds the zone of a name among all zones of the resource group.
	all *dns.ZoneFinder
}

// Match implements [dns.Filter]: the zone of a name has to be managed. Nil selects no name.
func (l *zoneList) Match(name string) bool {
	if l == nil {
		return false
	}
	z, ok := l.all.Find(name)
	return ok && l.byID[z.ID] != nil
}

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

// read lists the zones.
func (p *azureProvider) read(ctx context.Context) (*zoneList, error) {
	found, err := p.account.zones(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the zones of the resource group %s of Azure: %w", p.account.group, err)
	}
	return p.zones.Replace(func(before *zoneList) *zoneList { return p.arrange(before, found) }), nil
}

// arrange returns the list for the zones of a listing.
func (p *azureProvider) arrange(before *zoneList, found []dns.Zone) *zoneList {
	next := &zoneList{byID: map[string]*azureZone{}, versions: map[string]string{}}
	var all []dns.Zone
	for _, z := range found {
		stored, version := z.Name, z.Version
		// The version changes with each record, and the known content of the zone must be kept then.
		z.Version = ""
		if z.Name = dns.Canonical(z.Name); z.ID == "" || dns.CheckName(z.Name) != nil {
			continue
		}
		all = append(all, z)
		if p.filter.admits(z) && next.byID[z.ID] == nil {
			next.byID[z.ID], next.versions[z.ID] = p.keep(before, z, stored), version
		}
	}
	next.all = dns.NewZoneFinder(all)
	for _, z := range next.byID {
		next.managed = append(next.managed, z)
	}
	slices.SortFunc(next.managed, func(a, b *azureZone) int { return cmp.Compare(a.ID, b.ID) })
	return next
}

// keep returns the zone of the previous list if it is unchanged, or a new one.
func (p *azureProvider) keep(before *zoneList, z dns.Zone, name string) *azureZone {
	if before != nil {
		if old := before.byID[z.ID]; old != nil && old.Zone == z && old.name == name {
			return old
		}
	}
	return &azureZone{mapping: mapping{Zone: z, types: p.types()}, account: p.account, name: name, known: map[key]*entry{}, uncertain: map[key]struct{}{}}
}
