package batch

import (
	"slices"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
)

// lag is how long a listing may lag behind a change (spec/clouds.md §1.9, §3.9).
const lag = 10 * time.Second

// ZoneCache remembers the last listing and the last writes of a zone. The zero value is empty.
type ZoneCache[R any] struct {
	mu sync.Mutex
	// exact has the listed record sets that Records can't return in full.
	exact map[dns.Key]*R
	// recent are the writes that a listing may not show yet.
	recent map[dns.Key]*pastWrite[R]
}

// pastWrite has the old states of a key, and its current one; nil means none.
type pastWrite[R any] struct {
	before []*R
	after  *R
	at     time.Time
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
	m.expire(now)
	for _, u := range units {
		for _, s := range u.Swaps {
			m.note(s, now)
			delete(m.exact, s.Key)
		}
	}
}

func (m *ZoneCache[R]) note(s Swap[R], now time.Time) {
	w := m.recent[s.Key]
	if w == nil {
		if m.recent == nil {
			m.recent = map[dns.Key]*pastWrite[R]{}
		}
		w = &pastWrite[R]{}
		m.recent[s.Key] = w
	}
	w.before, w.after, w.at = append(w.before, s.Gone), s.New, now
}

// Forget drops the writes of a unit after an external change. It implements Forget of [Zone].
func (m *ZoneCache[R]) Forget(u *Unit[R]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range u.Swaps {
		delete(m.recent, s.Key)
	}
}

// expire drops the writes that every listing from now on shows.
func (m *ZoneCache[R]) expire(now time.Time) {
	for key, w := range m.recent {
		if now.Sub(w.at) > lag {
			delete(m.recent, key)
		}
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
	m.expire(begun)
	m.correct(listing, f.Same)
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

// correct replaces the old states in a listing. A record set in any other state was changed externally, and
// stays.
func (m *ZoneCache[R]) correct(listing map[dns.Key]*R, same func(a, b *R) bool) {
	for key, w := range m.recent {
		shown := listing[key]
		if same(shown, w.after) || !slices.ContainsFunc(w.before, func(b *R) bool { return same(b, shown) }) {
			continue
		}
		if w.after == nil {
			delete(listing, key)
		} else {
			listing[key] = w.after
		}
	}
}
