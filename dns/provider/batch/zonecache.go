package batch

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
)

// Lag is how long a listing may lag behind a change (spec/clouds.md §1.9, §3.9).
const Lag = 10 * time.Second

// Recent has the writes that a listing may not show yet, by what identifies a record at its server. R is the
// type of the server's records.
type Recent[K comparable, R any] map[K]*pastWrite[R]

// pastWrite has the old states of a key, and its current one; nil means none.
type pastWrite[R any] struct {
	before []*R
	after  *R
	at     time.Time
}

// Note remembers a write. Before or after is nil if there is none.
func (r Recent[K, R]) Note(key K, before, after *R, at time.Time) {
	w := r[key]
	if w == nil {
		w = &pastWrite[R]{}
		r[key] = w
	}
	w.before, w.after, w.at = append(w.before, before), after, at
}

// Expire drops the writes that every listing from now on shows.
func (r Recent[K, R]) Expire(now time.Time) {
	maps.DeleteFunc(r, func(_ K, w *pastWrite[R]) bool { return now.Sub(w.at) > Lag })
}

// Forget drops the writes of records that meet a condition. Of a deleted record, it is called with the last
// state.
func (r Recent[K, R]) Forget(meets func(*R) bool) {
	maps.DeleteFunc(r, func(_ K, w *pastWrite[R]) bool { return meets(cmp.Or(w.after, w.before[len(w.before)-1])) })
}

// Current returns the state of a key for the one in a listing, which may be an old one; nil means none. Any
// other state was changed externally, and stays.
func (r Recent[K, R]) Current(key K, shown *R, same func(a, b *R) bool) *R {
	w := r[key]
	if w == nil || same(shown, w.after) || !slices.ContainsFunc(w.before, func(b *R) bool { return same(b, shown) }) {
		return shown
	}
	return w.after
}

// ZoneCache remembers the last listing and the last writes of a zone. The zero value is empty.
type ZoneCache[R any] struct {
	mu sync.Mutex
	// exact has the listed record sets that Records can't return in full.
	exact  map[dns.Key]*R
	recent Recent[dns.Key, R]
}

// exactListed returns the listed record set if Records couldn't return it in full, or nil.
func (m *ZoneCache[R]) exactListed(key dns.Key) *R {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exact[key]
}

// Note remembers changes that were made. It implements Note of [Zone].
func (m *ZoneCache[R]) Note(units []*Unit[R], now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.recent == nil {
		m.recent = Recent[dns.Key, R]{}
	}
	m.recent.Expire(now)
	for _, u := range units {
		for _, s := range u.Swaps {
			m.recent.Note(s.Key, s.Gone, s.New, now)
			delete(m.exact, s.Key)
		}
	}
}

// Forget drops the writes of a unit after an external change. It implements Forget of [Zone].
func (m *ZoneCache[R]) Forget(u *Unit[R]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range u.Swaps {
		delete(m.recent, s.Key)
	}
}

// Take returns the record sets for a listing that began at a time, corrected by the recent writes.
func (m *ZoneCache[R]) Take(f Format[R], sets []*R, begun time.Time) []*dns.RecordSet {
	listing := make(map[dns.Key]*R, len(sets))
	for _, raw := range sets {
		if key, handled := f.Key(raw); handled {
			listing[key] = raw
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.recent.Expire(begun)
	for key := range m.recent {
		if now := m.recent.Current(key, listing[key], f.Same); now != nil {
			listing[key] = now
		} else {
			delete(listing, key)
		}
	}
	m.exact = map[dns.Key]*R{}
	list := make([]*dns.RecordSet, 0, len(listing))
	for key, raw := range listing {
		r, plain := f.Listed(raw)
		if !plain {
			m.exact[key] = raw
		}
		list = append(list, r)
	}
	return list
}
