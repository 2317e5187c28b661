package apitest

import (
	"maps"
	"slices"
	"time"
)

// History is what a zone has, by key, and what it had while listings lag. Versions are never changed.
type History[K comparable, R any] struct {
	now *version[K, R]
	// before are older versions, in the order in which they were replaced.
	before []*version[K, R]
}

type version[K comparable, R any] struct {
	sets map[K]*R
	// sorted is made when a listing needs it.
	sorted []*R
	until  time.Time
}

// NewHistory returns a history that begins with some sets.
func NewHistory[K comparable, R any](sets map[K]*R) History[K, R] {
	return History[K, R]{now: &version[K, R]{sets: sets}}
}

// Now returns what the zone has.
func (h *History[K, R]) Now() map[K]*R { return h.now.sets }

// Set stores a set, or deletes it if it is nil.
func (h *History[K, R]) Set(k K, set *R, lag time.Duration) {
	next := maps.Clone(h.now.sets)
	if next[k] = set; set == nil {
		delete(next, k)
	}
	h.Replace(next, lag)
}

// Replace replaces what the zone has.
func (h *History[K, R]) Replace(next map[K]*R, lag time.Duration) {
	now := time.Now()
	h.before = slices.DeleteFunc(h.before, func(v *version[K, R]) bool { return v.until.Before(now.Add(-lag)) })
	if lag > 0 {
		h.now.until = now
		h.before = append(h.before, h.now)
	}
	h.now = &version[K, R]{sets: next}
}

// List returns what a listing shows that lags, in an order.
func (h *History[K, R]) List(lag time.Duration, order func(a, b *R) int) []*R {
	shown, at := h.now, time.Now().Add(-lag)
	for _, old := range h.before {
		if at.Before(old.until) {
			shown = old
			break
		}
	}
	if shown.sorted == nil {
		shown.sorted = slices.SortedFunc(maps.Values(shown.sets), order)
	}
	return shown.sorted
}
