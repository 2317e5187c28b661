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
	"github.com/signpostd/signpost/dns/provider/batch"
)

// managedZone is a managed zone. Its value stays the same as long as the zone is unchanged.
type managedZone struct {
	dns.Zone
	limits limits
	// found is the zone of the API.
	found zone

	mu sync.Mutex
	// rows is the number of records in the last listing.
	rows      int
	recent    recent
	creations creations
	denied    denied
}

func sameZone(a, b *managedZone) bool { return a.Zone == b.Zone && a.limits == b.limits }

// wholeID matches complete zone IDs, for which single zones can be read.
var wholeID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func (p *cloudflareProvider) list(ctx context.Context) (all []batch.Found[managedZone], unlisted, err error) {
	found, unlisted, err := p.find(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("list the zones of Cloudflare: %w", err)
	}
	if before := p.Last(); unlisted != nil && (before == nil || before.Unlisted == nil) {
		p.log.Error("Can't read a zone of --zone-id-filter; the others are used, and those that are known stay", "err", unlisted)
	}
	found = provider.Usable(&p.names, p.log, found, func(z zone) dns.Zone { return dns.Zone{ID: z.ID, Name: dns.Canonical(z.Name)} })
	// If zones of different accounts have one name, Cloudflare serves the active one.
	slices.SortStableFunc(found, func(a, b zone) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), -compareBools(a.active(), b.active()), cmp.Compare(a.ID, b.ID))
	})
	all = make([]batch.Found[managedZone], len(found))
	zones := make([]dns.Zone, len(found))
	first := dns.Zone{}
	for i, z := range found {
		zones[i] = dns.Zone{ID: z.ID, Name: dns.Canonical(z.Name)}
		of := &managedZone{Zone: zones[i], limits: z.Plan.limits(), found: z, recent: recent{}, creations: creations{}}
		all[i] = batch.Found[managedZone]{Zone: zones[i], Of: of, Managed: p.filter.Admits(zones[i])}
		switch {
		case !all[i].Managed:
		case first.ID == "" || first.Name != zones[i].Name:
			first = zones[i]
		case first.ID != z.ID:
			all[i].Managed = false
			p.warnOnce("twin "+z.ID, "Several zones have one name; records are published to the first one: choose with --zone-id-filter",
				"name", first.Name, "first", first.ID, "not used", z.ID)
		}
	}
	return all, unlisted, nil
}

func compareBools(a, b bool) int {
	number := map[bool]int{true: 1}
	return number[a] - number[b]
}

// find returns all zones, or those of --zone-id-filter if all its IDs are complete. unlisted is the error for
// zones that couldn't be read. Such a zone keeps its last state unless Cloudflare refuses the request,
// because a short outage is no reason to drop a zone.
func (p *cloudflareProvider) find(ctx context.Context) (found []zone, unlisted, err error) {
	if len(p.filter.IDs) == 0 || slices.ContainsFunc(p.filter.IDs, func(id string) bool { return !wholeID.MatchString(id) }) {
		found, err = p.api.zones(ctx)
		return found, nil, err
	}
	before := p.Last()
	var errs []error
	for _, id := range p.filter.IDs {
		z, err := p.api.zone(ctx, id)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, provider.ErrThrottled) {
				return nil, nil, err
			}
			errs = append(errs, fmt.Errorf("zone %s: %w", id, err))
			var known bool
			if z, known = lastListed(before, id); !known || provider.NothingMade(err) {
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

// lastListed returns the last state of a zone. The list may be nil.
func lastListed(l *batch.List[managedZone], id string) (z zone, known bool) {
	if l == nil {
		return z, false
	}
	i := slices.IndexFunc(l.All, func(f batch.Found[managedZone]) bool { return f.ID == id })
	if i < 0 {
		return z, false
	}
	return l.All[i].Of.found, true
}

// listed is called with all records of a zone. It corrects and counts them.
func (z *managedZone) listed(rows []record, begun time.Time) groups {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.recent.Expire(begun)
	rows = z.correct(rows, nil)
	z.rows = len(rows)
	g := group(rows)
	z.creations.check(g, begun)
	return g
}
