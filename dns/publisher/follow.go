package publisher

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/signpostd/signpost/dns"
)

// maxFollowed limits the names that a [Follower] remembers. After more, the next Changes is a
// reset.
const maxFollowed = 1000

// Follower collects the names that change, for one watcher. [Publisher.Follow] creates it. Next and
// Close are for one goroutine.
type Follower struct {
	publisher *Publisher
	wake      chan struct{}
	closed    atomic.Bool
	// The loop owns the fields below. names has the record sets that the zone had under each name
	// before its first change. reset is true if everything may have changed.
	names map[nameInZone][]dns.Key
	reset bool
}

// nameInZone is a name in a zone. The zone is nil for an unzoned name.
type nameInZone struct {
	zone *zone
	name string
}

// Changes are the changes since the last call of [Follower.Next].
type Changes struct {
	// Rows are new or changed record sets. Gone are record sets that may have been shown before and
	// don't exist now.
	Rows []Row
	Gone []RowKey
	// Names are the names that have changed, sorted.
	Names []string
	// Reset says that everything may have changed. The other fields are then empty.
	Reset bool
}

// Follow returns a follower of the names that change from now on.
func (p *Publisher) Follow(ctx context.Context) (*Follower, error) {
	f := &Follower{publisher: p, wake: make(chan struct{}, 1), names: map[nameInZone][]dns.Key{}}
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
	var places []nameInZone
	var had map[nameInZone][]dns.Key
	err := f.publisher.visit(ctx, func() {
		c.Reset = f.reset
		had, f.names, f.reset = f.names, map[nameInZone][]dns.Key{}, false
	})
	if err != nil || c.Reset {
		return c, err
	}
	for at := range had {
		places = append(places, at)
		c.Names = append(c.Names, at.name)
	}
	slices.Sort(c.Names)
	c.Names = slices.Compact(c.Names)
	err = f.publisher.visitAll(ctx, func() (more bool) {
		if len(places) == 0 {
			return false
		}
		at := places[0]
		places = places[1:]
		rows := f.publisher.rowsAt(at)
		c.Rows = append(c.Rows, rows...)
		c.Gone = append(c.Gone, f.publisher.gone(at, had[at], rows)...)
		return true
	})
	if err != nil {
		return Changes{}, fmt.Errorf("list the changes: %w", err)
	}
	slices.SortFunc(c.Rows, func(a, b Row) int { return compareRowKeys(a.RowKey, b.RowKey) })
	slices.SortFunc(c.Gone, compareRowKeys)
	return c, nil
}

// gone returns the record sets of a name that may have been shown and don't exist now: those that
// the zone had, and one of each type that objects can ask for.
func (p *Publisher) gone(at nameInZone, had []dns.Key, now []Row) []RowKey {
	for _, recordType := range p.Rules.Managed {
		had = append(had, dns.Key{Name: at.name, Type: recordType})
	}
	var gone []RowKey
	for _, k := range had {
		key := rowKey(at, k)
		if !slices.Contains(gone, key) && !slices.ContainsFunc(now, func(r Row) bool { return r.RowKey == key }) {
			gone = append(gone, key)
		}
	}
	return gone
}

// changedAt notes that a name has changed, or is about to.
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
		f.everything()
		return
	}
	var had []dns.Key
	if at.zone != nil {
		for _, r := range at.zone.mirror.node(at.name).raw {
			had = append(had, r.Key())
		}
	}
	f.names[at] = had
	f.rouse()
}

// unsettle notes that everything may have changed.
func (p *Publisher) unsettle() {
	for f := range p.followers {
		f.everything()
	}
}

func (f *Follower) everything() {
	f.names, f.reset = map[nameInZone][]dns.Key{}, true
	f.rouse()
}

func (f *Follower) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
