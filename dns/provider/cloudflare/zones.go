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

// managedZone is a managed zone. Its value stays the same as long as the zone is unchanged.
type managedZone struct {
	dns.Zone
	limits limits

	mu sync.Mutex
	// rows is the number of records in the last listing.
	rows      int
	recent    recent
	creations creations
	denied    denied
}

// zoneList is the result of one listing of zones. It never changes.
type zoneList struct {
	managed []*managedZone
	byID    map[string]*managedZone
	// finder finds the zone of a name among all zones that the credentials can read.
	finder *dns.ZoneFinder
	// found has the zones of the API by ID.
	found map[string]zone
	// unlisted is the error for the zones of --zone-id-filter that couldn't be read, or nil.
	unlisted error
}

// filter selects the managed zones.
type filter struct {
	domains dns.Filter
	ids     dns.ZoneIDFilter
	names   *dns.DomainFilter
}

// admits reports whether a zone is managed. --domain-filter doesn't apply to a zone selected by ID
// (spec/clouds.md §6.2).
func (f filter) admits(z dns.Zone) bool {
	return f.ids.Match(z.ID) && f.names.Match(z.Name) && (len(f.ids) > 0 || f.domains.Match(z.Name))
}

// wholeID matches complete zone IDs, for which single zones can be read.
var wholeID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// list lists the zones.
func (p *cloudflareProvider) list(ctx context.Context) (*zoneList, error) {
	found, unlisted, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	if before := p.zones.Last(); unlisted != nil && (before == nil || before.unlisted == nil) {
		p.log.Error("Can't read a zone of --zone-id-filter; the others are used, and those that are known stay", "err", unlisted)
	}
	found = provider.Usable(&p.names, p.log, found, func(z zone) dns.Zone { return dns.Zone{ID: z.ID, Name: dns.Canonical(z.Name)} })
	// If zones of different accounts have one name, Cloudflare serves the active one.
	slices.SortStableFunc(found, func(a, b zone) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), -compareBools(a.active(), b.active()), cmp.Compare(a.ID, b.ID))
	})
	return p.zones.Replace(func(before *zoneList) *zoneList { return p.arrange(before, found, unlisted) }), nil
}

// arrange returns the list for the zones of a listing.
func (p *cloudflareProvider) arrange(before *zoneList, found []zone, unlisted error) *zoneList {
	next := &zoneList{byID: map[string]*managedZone{}, found: make(map[string]zone, len(found)), unlisted: unlisted}
	all := make([]dns.Zone, len(found))
	for i, z := range found {
		next.found[z.ID] = z
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

// find returns all zones, or those of --zone-id-filter if all its IDs are complete. unlisted is the error for
// zones that couldn't be read. Such a zone keeps its last state unless Cloudflare refuses the request,
// because a short outage is no reason to drop a zone.
func (p *cloudflareProvider) find(ctx context.Context) (found []zone, unlisted, err error) {
	if len(p.filter.ids) == 0 || slices.ContainsFunc(p.filter.ids, func(id string) bool { return !wholeID.MatchString(id) }) {
		found, err = p.api.zones(ctx)
		return found, nil, err
	}
	before := p.zones.Last()
	var errs []error
	for _, id := range p.filter.ids {
		z, err := p.api.zone(ctx, id)
		if ctx.Err() != nil || errors.Is(err, provider.ErrThrottled) {
			return nil, nil, err
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("zone %s: %w", id, err))
			var known bool
			if z, known = before.last(id); !known || provider.NothingMade(err) {
				continue
			}
		}
		found = append(found, z)
	}
	unlisted = errors.Join(errs...)
	if len(found) == 0 {
		return nil, nil, unlisted
	}
	return found, unlisted, nil
}

// last returns the last state of a zone. It may be called on nil.
func (l *zoneList) last(id string) (z zone, known bool) {
	if l != nil {
		z, known = l.found[id]
	}
	return z, known
}

// keep returns the zone of the previous list, or a new one.
func keep(before *zoneList, z dns.Zone, l limits) *managedZone {
	if before != nil {
		if m := before.byID[z.ID]; m != nil && m.Zone == z && m.limits == l {
			return m
		}
	}
	return &managedZone{Zone: z, limits: l, recent: recent{}, creations: creations{}}
}

// Match implements [dns.Filter]: the zone of a name has to be managed. Nil selects no name.
func (l *zoneList) Match(name string) bool {
	return l != nil && slices.ContainsFunc(l.finder.FindAll(name), func(z dns.Zone) bool { return l.byID[z.ID] != nil })
}

// listed is called with all records of a zone. It corrects and counts them.
func (z *managedZone) listed(rows []record, begun time.Time) groups {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.recent.expire(begun)
	rows = z.recent.correct(rows, nil)
	z.rows = len(rows)
	g := group(rows)
	z.creations.check(g, begun)
	return g
}
