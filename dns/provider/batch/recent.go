package batch

import (
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
)

// lag is how long after a change a listing may still show what was there before (spec/clouds.md §1.9, §3.9).
const lag = 10 * time.Second

// Recent are the changes of a zone that a listing may not show yet.
type Recent[R any] map[dns.Key]*written[R]

// written is what a key has had, and what it has now; nil is for nothing.
type written[R any] struct {
	before []*R
	after  *R
	at     time.Time
}

// Note adds a change that was made.
func (r Recent[R]) Note(s Swap[R], now time.Time) {
	w := r[s.Key]
	if w == nil || now.Sub(w.at) > lag {
		w = &written[R]{}
		r[s.Key] = w
	}
	w.before, w.after, w.at = append(w.before, s.Gone), s.New, now
}

// Forget drops the changes of a unit, because somebody else has changed its record sets since.
func (r Recent[R]) Forget(u *Unit[R]) {
	for _, s := range u.Swaps {
		delete(r, s.Key)
	}
}

// Expire drops what every listing that begins now shows.
func (r Recent[R]) Expire(now time.Time) {
	for key, w := range r {
		if now.Sub(w.at) > lag {
			delete(r, key)
		}
	}
}

// Correct replaces in a listing what it shows of the time before a change. If it shows something that was
// never there before, somebody else has made that, and it stays.
func (r Recent[R]) Correct(listing map[dns.Key]*R, same func(a, b *R) bool) {
	for key, w := range r {
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
