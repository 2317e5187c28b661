package batch

import (
	"slices"
	"sync"
	"time"

	"github.com/signpostd/signpost/dns"
)

// lag is how long after a change a listing may still show the state before it (spec/clouds.md §1.9, §3.9).
const lag = 10 * time.Second

// Memory is what a provider remembers of a zone. The zero value remembers nothing.
type Memory[R any] struct {
	mu sync.Mutex
	// exact has the record sets of the last listing that Records can't return as they are.
	exact map[dns.Key]*R
	// recent are the changes that a listing may not show yet.
	recent map[dns.Key]*written[R]
}

// written is what a key had before changes, and what it has now; nil is for nothing.
type written[R any] struct {
	before []*R
	after  *R
	at     time.Time
}

// Exact returns the record set of the last listing, if Records couldn't return it as it is, or nil.
func (m *Memory[R]) Exact(key dns.Key) *R {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.exact[key]
}

// Note remembers changes that were made. It is that of [Zone].
func (m *Memory[R]) Note(units []*Unit[R], now time.Time) {
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

func (m *Memory[R]) note(s Swap[R], now time.Time) {
	w := m.recent[s.Key]
	if w == nil {
		if m.recent == nil {
			m.recent = map[dns.Key]*written[R]{}
		}
		w = &written[R]{}
		m.recent[s.Key] = w
	}
	w.before, w.after, w.at = append(w.before, s.Gone), s.New, now
}

// Forget drops the changes of a unit, because somebody else has changed its record sets since. It is that of [Zone].
func (m *Memory[R]) Forget(u *Unit[R]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range u.Swaps {
		delete(m.recent, s.Key)
	}
}

// expire drops the changes that every listing shows that begins now.
func (m *Memory[R]) expire(now time.Time) {
	for key, w := range m.recent {
		if now.Sub(w.at) > lag {
			delete(m.recent, key)
		}
	}
}

// Take returns what Records returns for a listing that began at a time. It corrects the listing by the recent changes.
func (m *Memory[R]) Take(f Format[R], sets []*R, begun time.Time) []*dns.RecordSet {
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

// correct replaces in a listing what it shows of the time before a change. A record set that was never there before
// is somebody else's, and stays.
func (m *Memory[R]) correct(listing map[dns.Key]*R, same func(a, b *R) bool) {
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
