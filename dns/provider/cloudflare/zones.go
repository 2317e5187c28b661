package cloudflare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// managedZone is a zone that is managed. It stays the same value as long as nothing about it changes.
type managedZone struct {
	dns.Zone
	limits limits

	mu sync.Mutex
	// rows is how many records the zone had when it was listed last.
	rows   int
	recent recent
	claims claims
	denied denied
}

// zoneList is the result of one listing of zones. It is immutable.
type zoneList struct {
	managed []*managedZone
	byID    map[string]*managedZone
	// finder finds the zone of a name among all zones that the credentials may see, managed or not.
	finder *dns.ZoneFinder
}

// filter says which zones are managed.
type filter struct {
	domains dns.Filter
	ids     dns.ZoneIDFilter
	names   *dns.DomainFilter
}

// admits reports whether a zone is managed. A zone that was asked for by its ID doesn't have to be
// of a domain of --domain-filter (spec/clouds.md §6.2).
func (f filter) admits(z dns.Zone) bool {
	return f.ids.Match(z.ID) && f.names.Match(z.Name) && (len(f.ids) > 0 || f.domains.Match(z.Name))
}

// wholeID is what the ID of a zone looks like, so that it can be asked for.
var wholeID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// list lists the zones.
func (p *cloudflareProvider) list(ctx context.Context) (*zoneList, error) {
	found, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	found = provider.Usable(&p.names, p.log, found, func(z zone) dns.Zone { return dns.Zone{ID: z.ID, Name: dns.Canonical(z.Name)} })
	// Of several zones of one name, which belong to different accounts, Cloudflare serves the active one.
	slices.SortStableFunc(found, func(a, b zone) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), -compareBools(a.active(), b.active()), cmp.Compare(a.ID, b.ID))
	})
	return p.zones.Replace(func(before *zoneList) *zoneList { return p.arrange(before, found) }), nil
}

// arrange returns the list of zones that were found.
func (p *cloudflareProvider) arrange(before *zoneList, found []zone) *zoneList {
	next := &zoneList{byID: map[string]*managedZone{}}
	all := make([]dns.Zone, len(found))
	for i, z := range found {
		all[i] = dns.Zone{ID: z.ID, Name: dns.Canonical(z.Name)}
		if !p.filter.admits(all[i]) || next.byID[z.ID] != nil {
			continue
		}
		if n := len(next.managed); n > 0 && next.managed[n-1].Name == all[i].Name {
			p.warnOnce("twin "+z.ID, "Several zones have one name; records are published to the first one: choose with --zone-id-filter",
				"name", all[i].Name, "first", next.managed[n-1].ID, "not used", z.ID)
			continue
		}
		m := keep(before, all[i], z.Plan.limits())
		next.managed, next.byID[z.ID] = append(next.managed, m), m
	}
	next.finder = dns.NewZoneFinder(all)
	p.api.budget.Retain(all)
	return next
}

func compareBools(a, b bool) int {
	number := map[bool]int{true: 1}
	return number[a] - number[b]
}

// find returns all zones, or those with the IDs of --zone-id-filter if these are whole IDs.
func (p *cloudflareProvider) find(ctx context.Context) ([]zone, error) {
	if len(p.filter.ids) == 0 || slices.ContainsFunc(p.filter.ids, func(id string) bool { return !wholeID.MatchString(id) }) {
		return p.api.zones(ctx)
	}
	var found []zone
	var errs []error
	for _, id := range p.filter.ids {
		z, err := p.api.zone(ctx, id)
		switch {
		case err == nil:
			found = append(found, z)
		case ctx.Err() != nil || errors.Is(err, provider.ErrThrottled):
			return nil, err
		default:
			errs = append(errs, fmt.Errorf("zone %s: %w", id, err))
			p.log.Error("Can't get a zone of --zone-id-filter; the others are used", "id", id, "err", err)
		}
	}
	if len(found) == 0 {
		return nil, errors.Join(errs...)
	}
	return found, nil
}

// keep returns the zone of the last listing, or a new one.
func keep(before *zoneList, z dns.Zone, l limits) *managedZone {
	if before != nil {
		if m := before.byID[z.ID]; m != nil && m.Zone == z && m.limits == l {
			return m
		}
	}
	return &managedZone{Zone: z, limits: l, recent: recent{}, claims: claims{}}
}

// Match implements [dns.Filter]: the zone of a name has to be managed.
func (l *zoneList) Match(name string) bool {
	return slices.ContainsFunc(l.finder.FindAll(name), func(z dns.Zone) bool { return l.byID[z.ID] != nil })
}

// listed is called with all records of a zone. It corrects them, and remembers how many there are.
func (z *managedZone) listed(rows []record, begun time.Time) groups {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.recent.expire(begun)
	rows = z.recent.correct(rows, nil)
	z.rows = len(rows)
	g := group(rows)
	z.claims.check(g, begun)
	return g
}
