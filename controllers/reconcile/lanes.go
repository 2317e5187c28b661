package reconcile

import (
	"maps"
	"time"
)

const (
	// slowAfter is the time after which a sync is slow, such as one whose writes wait for a webhook.
	slowAfter = 500 * time.Millisecond
	// stuckAfter is the time after which a sync is slow if no request of it has got a response and there is no
	// place for it.
	stuckAfter = 100 * time.Millisecond
	// slowPlaces is how many places for slow syncs there are for each worker. A namespace gets a second place
	// only if fewer than a quarter are taken.
	slowPlaces = 4
	// slowPeriod is how long a namespace counts as slow after a slow sync.
	slowPeriod = 10 * time.Minute
)

// lanes keep the workers free for namespaces whose syncs are short. A slow sync gets a place, and another
// worker starts in its stead. If there is no place, the sync yields: its requests are cancelled, and it waits for
// a place. Each slow namespace therefore takes the time of a worker once, and for no longer than slowAfter,
// however long its requests take. Syncs of a slow namespace start only with a place. lanes are not safe for
// concurrent use.
type lanes struct {
	workers int
	// slow has the slow namespaces, and until when they count as slow.
	slow map[string]time.Time
	// placed are the syncs that have a place, and places their number in each namespace.
	placed map[Key]bool
	places map[string]int
	// parked are the Services of slow namespaces that wait for a place. waits is true for each of them.
	parked *fairQueue
	waits  map[Key]bool
}

func newLanes(workers int) *lanes {
	return &lanes{
		workers: workers, slow: map[string]time.Time{}, placed: map[Key]bool{}, places: map[string]int{}, parked: newFairQueue(), waits: map[Key]bool{},
	}
}

// begin reports whether a Service may be synced now. If not, end returns it later.
func (l *lanes) begin(key Key, now time.Time) bool {
	isSlow := now.Before(l.slow[key.Namespace]) || len(l.parked.waiting[key.Namespace]) > 0
	if !isSlow || l.place(key) {
		return true
	}
	if !l.waits[key] {
		l.waits[key] = true
		l.parked.Push(key)
	}
	return false
}

// place gives a sync a place, if there is one. Each namespace gets a place before one of them gets another.
func (l *lanes) place(key Key) bool {
	if !l.hasPlace(key.Namespace) {
		return false
	}
	l.placed[key] = true
	l.places[key.Namespace]++
	return true
}

func (l *lanes) hasPlace(namespace string) bool {
	if l.places[namespace] == 0 {
		return len(l.placed) < slowPlaces*l.workers
	}
	return len(l.placed) < l.workers
}

// isStuck reports whether a sync has no place, and would get none.
func (l *lanes) isStuck(key Key) bool { return !l.placed[key] && !l.hasPlace(key.Namespace) }

// isSlow records that a sync is slow. It reports whether the sync has got a place now.
func (l *lanes) isSlow(key Key, now time.Time) bool {
	maps.DeleteFunc(l.slow, func(_ string, until time.Time) bool { return !now.Before(until) })
	l.slow[key.Namespace] = now.Add(slowPeriod)
	return !l.placed[key] && l.place(key)
}

// end records that the sync of a Service has ended, and returns a waiting Service for which there is a place.
func (l *lanes) end(key Key) (next Key, ok bool) {
	if l.placed[key] {
		delete(l.placed, key)
		if l.places[key.Namespace]--; l.places[key.Namespace] == 0 {
			delete(l.places, key.Namespace)
		}
	}
	for range l.parked.turns {
		next := l.parked.Pop()
		if l.hasPlace(next.Namespace) {
			delete(l.waits, next)
			return next, true
		}
		l.parked.Push(next)
	}
	return Key{}, false
}
