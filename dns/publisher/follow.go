package publisher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/signpostd/signpost/dns"
)

// maxFollowed limits the changed names that a [Follower] remembers. If more names change, the next
// Changes is a reset.
const maxFollowed = 1000

// maxShown limits the names for which a [Follower] remembers returned rows without a record set in
// the zone.
const maxShown = 10_000

// Follower collects the names that change, for an inspection. [Publisher.Follow] creates it. Next
// and Close are for one goroutine.
type Follower struct {
	publisher *Publisher
	wake      chan struct{}
	closed    atomic.Bool
	// shown has, for each changed name, the rows of the last Next that have no record set in the zone.
	shown map[nameInZone][]dns.Key
	// The loop owns the fields below. names has, for each changed name, its record sets before the
	// first change. reset is true if any name may have changed.
	names map[nameInZone]priorRecords
	reset bool
}

// priorRecords are the record sets of a name before it changed.
type priorRecords struct {
	// records are the keys of the zone's record sets. Ownership records are left out, because they
	// have no rows.
	records []dns.Key
	// incomplete is true if the name may have had other rows: it had a state, so wanted record sets
	// may have been missing.
	incomplete bool
}

// nameInZone is a name in a zone; the zone is nil for a name that is in none.
type nameInZone struct {
	zone *zone
	name string
}

// Changes are the changes since the last call of [Follower.Next].
type Changes struct {
	// Rows are new or changed record sets. Gone are those that no longer exist.
	Rows []Row
	Gone []RowKey
	// Reset is true if any name may have changed. The other fields are then empty.
	Reset bool
}

// Follow returns a follower of the names that change from now on.
func (p *Publisher) Follow(ctx context.Context) (*Follower, error) {
	f := &Follower{publisher: p, wake: make(chan struct{}, 1), names: map[nameInZone]priorRecords{}, shown: map[nameInZone][]dns.Key{}}
	err := p.visit(ctx, func() {
		if p.followers == nil {
			p.followers = map[*Follower]struct{}{}
		}
		p.followers[f] = struct{}{}
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Changed receives a value when Next may have something.
func (f *Follower) Changed() <-chan struct{} { return f.wake }

// Close ends following.
func (f *Follower) Close() { f.closed.Store(true) }

// Next returns the changes since the last call. It doesn't wait.
func (f *Follower) Next(ctx context.Context) (Changes, error) {
	var c Changes
	var had map[nameInZone]priorRecords
	err := f.publisher.visit(ctx, func() {
		c.Reset = f.reset
		had, f.names, f.reset = f.names, map[nameInZone]priorRecords{}, false
	})
	if err != nil {
		return c, err
	}
	if c.Reset {
		clear(f.shown)
		return c, nil
	}
	places := slices.Collect(maps.Keys(had))
	err = f.publisher.visitAll(ctx, func() (more bool) {
		if len(places) == 0 {
			return false
		}
		at := places[0]
		places = places[1:]
		rows := f.publisher.rowsAt(at)
		c.Rows = append(c.Rows, rows...)
		gone, sure := f.gone(at, had[at], rows)
		c.Gone = append(c.Gone, gone...)
		c.Reset = c.Reset || !sure
		return true
	})
	if err != nil {
		return Changes{}, fmt.Errorf("list the changes: %w", err)
	}
	if c.Reset {
		clear(f.shown)
		return Changes{Reset: true}, nil
	}
	slices.SortFunc(c.Rows, func(a, b Row) int { return compareRowKeys(a.RowKey, b.RowKey) })
	slices.SortFunc(c.Gone, compareRowKeys)
	return c, nil
}

// gone returns the record sets of a name that no longer exist, among those that the zone had and
// the rows returned last. sure is false if others may have existed and nothing is left that would
// show the name's new state.
func (f *Follower) gone(at nameInZone, was priorRecords, now []Row) (gone []RowKey, sure bool) {
	shown, known := f.shown[at]
	for _, k := range slices.Concat(was.records, shown) {
		key := rowKey(at, k)
		if !slices.Contains(gone, key) && !slices.ContainsFunc(now, func(r Row) bool { return r.RowKey == key }) {
			gone = append(gone, key)
		}
	}
	f.show(at, now)
	return gone, known || !was.incomplete || len(was.records)+len(now) > 0
}

// show remembers the rows of a name that have no record set in the zone. The mirror has the others.
func (f *Follower) show(at nameInZone, rows []Row) {
	delete(f.shown, at)
	for _, r := range rows {
		if len(r.Targets) == 0 {
			f.shown[at] = append(f.shown[at], r.Key)
		}
	}
	if len(f.shown) > maxShown {
		// A forgotten row that ends is reported as a reset.
		clear(f.shown)
	}
}

// changedAt notifies followers that a name has changed, or is about to.
func (p *Publisher) changedAt(z *zone, name string) {
	for f := range p.followers {
		if f.closed.Load() {
			delete(p.followers, f)
			continue
		}
		f.note(nameInZone{z, name})
	}
}

func (f *Follower) note(at nameInZone) {
	if _, known := f.names[at]; known || f.reset {
		return
	}
	if len(f.names) == maxFollowed {
		f.requireReset()
		return
	}
	f.names[at] = f.publisher.priorRecordsAt(at)
	f.signal()
}

// priorRecordsAt returns the record sets of a name that is about to change.
func (p *Publisher) priorRecordsAt(at nameInZone) (b priorRecords) {
	if at.zone == nil {
		_, b.incomplete = p.unzoned[at.name]
		return b
	}
	for _, r := range at.zone.mirror.node(at.name).raw {
		if !p.isOwnershipRecord(r) {
			b.records = append(b.records, r.Key())
		}
	}
	// A state that was just created has no heap index yet.
	n := at.zone.names.all[at.name]
	b.incomplete = n != nil && n.heapIndex >= 0
	return b
}

// resetFollowers notifies followers that any name may have changed.
func (p *Publisher) resetFollowers() {
	for f := range p.followers {
		f.requireReset()
	}
}

func (f *Follower) requireReset() {
	f.names, f.reset = map[nameInZone]priorRecords{}, true
	f.signal()
}

func (f *Follower) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
