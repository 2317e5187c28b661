package publisher

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// RowFilter selects rows. The zero value selects all.
type RowFilter struct {
	// Zone is the canonical name of a zone.
	Zone string
	// States are the selected states; empty means all.
	States []RowState
	// Search is a part of a name, target or object, in lower case.
	Search string
	// Object selects the rows that it asks for, by kind, namespace and name; nil means all.
	Object *dns.Object
	// Target selects the rows with this target, of the zone or wanted; empty means all.
	Target string
	// Released selects the rows of our record sets that no object asks for, and whose ownership records
	// name this object, as KIND/NAMESPACE/NAME; empty means all.
	Released string
}

// maxRows limits an offset, so that arithmetic with it can't overflow.
const maxRows = math.MaxInt32

// RowPage is a page of the rows that pass a filter, sorted by zone, name and type.
type RowPage struct {
	Rows []Row
	// Total is the number of rows that pass the filter.
	Total int
}

// Rows returns at most limit rows that pass a filter, from offset on. It visits the names in steps,
// so that the loop isn't blocked: names that change meanwhile are shown in either state. Pages after
// the first one may lack rows of the last [windowTime]. The error is [ErrNotLeading] if this process
// doesn't lead.
func (p *Publisher) Rows(ctx context.Context, f RowFilter, offset, limit int) (RowPage, error) {
	offset = min(offset, maxRows)
	w, previous := p.rowWindows.find(f, offset, limit)
	if w == nil {
		var err error
		if w, err = p.findRows(ctx, f, previous, offset, limit); err != nil {
			return RowPage{}, err
		}
		if w.end() > offset+limit {
			p.rowWindows.keep(w)
		}
	}
	rows, err := p.rowsOf(ctx, w, w.page(offset, limit))
	return RowPage{Rows: rows, Total: w.total}, err
}

// findRows walks all names, and returns the window that begins at an offset. If a previous window ends
// there, the new window starts with the first row after its last row.
func (p *Publisher) findRows(ctx context.Context, f RowFilter, previous *window, offset, limit int) (*window, error) {
	w := &window{filter: f, made: time.Now()}
	skipped := offset
	var after *match
	if previous != nil {
		w.offset, skipped, after = offset, 0, &previous.hits[len(previous.hits)-1]
	}
	best := selection{limit: skipped + limit*windowPages}
	var found []match
	filter := func(at nameInZone) {
		p.filterRows(at, f, func(h match) { found = append(found, h) })
	}
	counted := 0
	var err error
	w.term, err = p.walk(ctx, filter, func() {
		if after != nil {
			found = slices.DeleteFunc(found, func(h match) bool { return compareHits(h, *after) <= 0 })
		}
		counted += len(found)
		best.add(found)
		found = found[:0]
	})
	if err != nil {
		return nil, err
	}
	all := best.from(0)
	if len(all) < best.limit {
		counted = len(all) // without names that moved between two steps of the walk, and were found twice
	}
	w.total = w.offset + counted
	skipped = min(skipped, len(all))
	w.offset += skipped
	w.hits = slices.Clone(all[skipped:])
	return w, nil
}

// rowsOf returns the rows of matches of a window. Rows that were deleted since the walk, or are now in
// another state than the filter selects, are left out.
func (p *Publisher) rowsOf(ctx context.Context, w *window, hits []match) (rows []Row, err error) {
	leads := true
	visitErr := p.visitAll(ctx, func() (more bool) {
		if leads = p.term == w.term; !leads || len(hits) == 0 {
			return false
		}
		at := hits[0].nameInZone
		var all []Row
		if at.zone == nil || p.zones.has(at.zone) {
			all = p.rowsAt(at)
		}
		for _, r := range all {
			if len(hits) > 0 && hits[0].nameInZone == at && r.Key == hits[0].key {
				if hits = hits[1:]; w.filter.admits(r.State) {
					rows = append(rows, r)
				}
			}
		}
		for len(hits) > 0 && hits[0].nameInZone == at {
			hits = hits[1:]
		}
		return true
	})
	if visitErr == nil && !leads {
		p.rowWindows.drop(w)
		return nil, ErrNotLeading
	}
	return rows, visitErr
}

// placesOf returns a canonical name in each zone that holds it, or without a zone if none does.
func (p *Publisher) placesOf(name string) []nameInZone {
	var places []nameInZone
	for _, z := range p.zones.zonesFor(name) {
		places = append(places, nameInZone{z, name})
	}
	if len(places) == 0 {
		return []nameInZone{{nil, name}}
	}
	return places
}

// walk calls inspect in the loop with each name that may have a row, in several visits, and between
// after each of them, outside of the loop. It returns the term of the names. The error is
// [ErrNotLeading] if this process doesn't lead.
func (p *Publisher) walk(ctx context.Context, inspect func(nameInZone), between func()) (*term, error) {
	var t *term
	var next func() ([]nameInZone, bool)
	stop := func() {}
	defer func() { stop() }()
	for more := true; more; between() {
		leads := false
		err := p.visit(ctx, func() {
			if t == nil && p.term != nil {
				t = p.term
				next, stop = iter.Pull(p.places())
			}
			leads = t != nil && p.term == t
			for begun := time.Now(); leads && more && time.Since(begun) < visitTime; {
				var some []nameInZone
				some, more = next()
				for _, at := range some {
					if at.zone == nil || p.zones.has(at.zone) {
						inspect(at)
					}
				}
			}
		})
		if err != nil {
			return nil, err
		}
		if !leads {
			return nil, ErrNotLeading
		}
	}
	return t, nil
}

// visitBatch is how many names are visited between two checks of the time.
const visitBatch = 64

// unzonedNames returns the names that are in no zone: all names, before zones are known.
func (p *Publisher) unzonedNames() iter.Seq[string] {
	if p.zones == nil {
		return p.Desired.Names()
	}
	return maps.Keys(p.unzoned)
}

// places returns all names that may have a row, in chunks. A name that a zone lacks has a state or a
// trial and is included. A map may change between two steps of the iteration: new names may be left out.
func (p *Publisher) places() iter.Seq[[]nameInZone] {
	return func(yield func([]nameInZone) bool) {
		some := make([]nameInZone, 0, visitBatch)
		add := func(at nameInZone) bool {
			if some = append(some, at); len(some) < visitBatch {
				return true
			}
			more := yield(some)
			some = some[:0]
			return more
		}
		for _, z := range p.zones.sorted() {
			for name, n := range z.mirror.names {
				if (n.plain > 0 || z.names.all[name] != nil) && !add(nameInZone{z, name}) {
					return
				}
			}
			for name := range z.names.all {
				if z.mirror.names[name] == nil && !add(nameInZone{z, name}) {
					return
				}
			}
			for name := range z.names.trials {
				if z.mirror.names[name] == nil && z.names.all[name] == nil && !add(nameInZone{z, name}) {
					return
				}
			}
		}
		for name := range p.unzonedNames() {
			if !add(nameInZone{nil, name}) {
				return
			}
		}
		yield(some)
	}
}

// match is a row that passes a filter.
type match struct {
	nameInZone
	key   dns.Key
	state RowState
}

// filterRows calls found with the rows of a name that pass a filter.
func (p *Publisher) filterRows(at nameInZone, f RowFilter, found func(match)) {
	if f.Zone != "" && (at.zone == nil || dns.Canonical(at.zone.Name) != f.Zone) {
		return
	}
	if f.Object != nil && !p.asked(at.name, func(r *dns.RecordSet) bool { return asksFor(r.Objects, *f.Object) }) {
		return
	}
	if f.Released != "" && !p.hasReleased(at, f.Released) {
		return
	}
	named := f.Search == "" || strings.Contains(at.name, f.Search)
	if f.Object == nil && f.Released == "" && p.filterSettledRows(at, f, named, found) {
		return
	}
	p.filterNameRows(at, f, named, found)
}

// filterNameRows filters the rows of any name. named is true if the name matches the search.
func (p *Publisher) filterNameRows(at nameInZone, f RowFilter, named bool, found func(match)) {
	for _, r := range p.rowsAt(at) {
		if f.admits(r.State) && f.passes(&r) && (named || mentions(r.Wanted, r.Targets, r.Objects, f.Search)) {
			found(match{at, r.Key, r.State})
		}
	}
}

// filterSettledRows is the fast path of filterNameRows for settled names without a problem. It
// builds no rows, because the rows of 100,000 names take 260 MB and seconds. It returns false for
// other names.
func (p *Publisher) filterSettledRows(at nameInZone, f RowFilter, named bool, found func(match)) bool {
	if at.zone == nil || !at.zone.upToDate || at.zone.names.all[at.name] != nil {
		return false
	}
	n := at.zone.mirror.names[at.name]
	if n == nil {
		return false
	}
	state := RowNotOwned
	switch {
	case n.owned == 0 && p.Rules.Owner != "" && !p.Desired.Contains(at.name):
	case p.settledAsAsked(at, n):
		state = RowPublished
	default:
		return false
	}
	if !f.admits(state) {
		return true
	}
	for _, r := range n.raw {
		if !p.isOwnershipRecord(r) && (f.Target == "" || hasTarget(r.Targets, f.Target)) && (named || p.askedMentions(at.name, r, f.Search)) {
			found(match{at, r.Key(), state})
		}
	}
	return true
}

// hasReleased reports whether a zone has a record set whose ownership record names an object.
func (p *Publisher) hasReleased(at nameInZone, object string) bool {
	return at.zone != nil && slices.ContainsFunc(p.current(at.zone, at.name), func(c plan.Current) bool {
		return strings.EqualFold(c.Set.Labels[dns.LabelResource], object)
	})
}

// askedMentions reports whether text is a part of what the zone has under a key, of what is wanted
// there, or of the objects.
func (p *Publisher) askedMentions(name string, r *dns.RecordSet, text string) bool {
	if mentions(nil, r.Targets, nil, text) {
		return true
	}
	return p.asked(name, func(a *dns.RecordSet) bool { return sameKind(a, r) && mentions(a.Targets, nil, a.Objects, text) })
}

// sameKind reports whether two record sets of one name have the same key.
func sameKind(a, b *dns.RecordSet) bool {
	return a.Type == b.Type && a.SetIdentifier == b.SetIdentifier
}

// settledAsAsked reports whether a settled name has exactly the wanted record sets.
func (p *Publisher) settledAsAsked(at nameInZone, n *node) bool {
	if n.owned != n.plain || n.plain == 0 || p.Rules.Policy == plan.CreateOnly || !p.admits(at.zone, at.name) || p.mayRefuse(at.name) {
		return false
	}
	for _, r := range n.raw {
		if p.isOwnershipRecord(r) {
			continue
		}
		if !p.asked(at.name, func(a *dns.RecordSet) bool { return sameKind(a, r) }) || !p.Rules.Manages(r.Type) {
			return false
		}
	}
	return true
}

// asked reports whether objects ask for a record set of a name that meets a condition.
func (p *Publisher) asked(name string, meets func(*dns.RecordSet) bool) bool {
	for r := range p.Desired.Each(name) {
		if meets(r) {
			return true
		}
	}
	return false
}

// equal reports whether two filters select the same rows.
func (f RowFilter) equal(g RowFilter) bool {
	sameObject := f.Object == g.Object
	if f.Object != nil && g.Object != nil {
		sameObject = *f.Object == *g.Object
	}
	return sameObject && f.Target == g.Target && f.Released == g.Released && f.Zone == g.Zone && f.Search == g.Search && slices.Equal(f.States, g.States)
}

// passes reports whether a row passes the filters by object and by target.
func (f RowFilter) passes(r *Row) bool {
	switch {
	case f.Object != nil && !r.askedBy(*f.Object):
		return false
	case f.Target != "" && !hasTarget(r.Wanted, f.Target) && !hasTarget(r.Targets, f.Target):
		return false
	case f.Released != "":
		return len(r.Objects) == 0 && r.State != RowNotOwned && strings.EqualFold(r.resource, f.Released)
	}
	return true
}

func hasTarget(targets []string, target string) bool {
	return slices.ContainsFunc(targets, func(t string) bool { return dns.SameTarget(t, target) })
}

func (f RowFilter) admits(s RowState) bool { return len(f.States) == 0 || slices.Contains(f.States, s) }

// askedBy reports whether an object asks for a row, with or without success.
func (r *Row) askedBy(o dns.Object) bool {
	return asksFor(r.Objects, o) || slices.ContainsFunc(r.Losers, func(l RowLoser) bool { return asksFor(l.Objects, o) })
}

func asksFor(objects []dns.Object, o dns.Object) bool {
	return slices.ContainsFunc(objects, func(a dns.Object) bool {
		return strings.EqualFold(a.Kind, o.Kind) && a.Namespace == o.Namespace && a.Name == o.Name
	})
}

// mentions reports whether text is a part of a target or an object.
func mentions(wanted, there []string, objects []dns.Object, text string) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return slices.ContainsFunc(wanted, has) || slices.ContainsFunc(there, has) ||
		slices.ContainsFunc(objects, func(o dns.Object) bool { return has(o.Kind + "/" + o.Namespace + "/" + o.Name) })
}

// selection keeps the first matches in their order.
type selection struct {
	limit int
	hits  []match
	// last is the last match that was kept when they were sorted last; nil before.
	last *match
}

// spare is how many extra matches a selection collects before it is sorted.
const spare = 4096

func (s *selection) add(found []match) {
	for _, h := range found {
		// Most names sort behind those that are kept.
		if s.last == nil || compareHits(h, *s.last) < 0 {
			s.hits = append(s.hits, h)
		}
	}
	if len(s.hits) > 2*s.limit+spare {
		s.trim()
		if len(s.hits) == s.limit && s.limit > 0 {
			last := s.hits[s.limit-1]
			s.last = &last
		}
	}
}

func compareHits(a, b match) int {
	return compareRowKeys(rowKey(a.nameInZone, a.key), rowKey(b.nameInZone, b.key))
}

func (s *selection) trim() {
	slices.SortFunc(s.hits, compareHits)
	s.hits = slices.Compact(s.hits)
	s.hits = s.hits[:min(len(s.hits), s.limit)]
}

func (s *selection) from(offset int) []match {
	s.trim()
	return s.hits[min(offset, len(s.hits)):]
}

// ZoneRow is a zone of the provider.
type ZoneRow struct {
	dns.Zone
	// Rows is the number of rows in each state.
	Rows map[RowState]int
	// Read is when the zone was last read; zero means never.
	Read time.Time
	// Problem says why the zone can't be read or written, or why the zones can't be listed.
	Problem string
	// Held is the hash of the changes that wait for approval.
	Held string
}

// ZoneRows returns the zones by name, and the number of unzoned rows in each state. The error is
// that of [Publisher.Rows].
func (p *Publisher) ZoneRows(ctx context.Context) (zones []ZoneRow, unzoned map[RowState]int, err error) {
	counts := map[*zone]map[RowState]int{}
	count := func(at nameInZone) {
		if counts[at.zone] == nil {
			counts[at.zone] = map[RowState]int{}
		}
		p.filterRows(at, RowFilter{}, func(h match) { counts[at.zone][h.state]++ })
	}
	if _, err := p.walk(ctx, count, func() {}); err != nil {
		return nil, nil, err
	}
	err = p.visit(ctx, func() {
		for _, z := range p.zones.sorted() {
			zones = append(zones, z.row(counts[z]))
		}
	})
	return zones, counts[nil], err
}

func (z *zone) row(counts map[RowState]int) ZoneRow {
	row := ZoneRow{Zone: z.Zone, Rows: counts, Read: z.readAt, Problem: z.problem()}
	if counts == nil {
		row.Rows = map[RowState]int{}
	}
	if plan, ok := z.ledger.Current(); ok {
		row.Held = plan.Hash
	}
	return row
}
