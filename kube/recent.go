package kube

import (
	"strings"
	"sync"
)

const (
	// stringsLimit is how many strings a generation of a scope holds: the label values, node
	// names and the like of a large cluster.
	stringsLimit = 1 << 16
	// sharedLimit is how many other values a generation holds, such as sets of labels.
	sharedLimit = 1 << 13
)

// recent keeps values by key for as long as somebody asks for them. Its memory is bounded: it
// forgets a value that nobody asked for while a whole generation was added. A forgotten value
// may then exist twice in memory, which does no harm. (Package unique doesn't fit: it forgets a
// value at once when nobody holds its Handle.)
//
// A recent may be used from any goroutine.
type recent[V any] struct {
	mu         sync.Mutex
	young, old map[string]V
	limit      int
}

func newRecent[V any](limit int) *recent[V] {
	return &recent[V]{young: map[string]V{}, limit: limit}
}

// get returns the value of a key, and whether there is one.
func (r *recent[V]) get(key string) (value V, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, known = r.young[key]; known {
		return value, true
	}
	if value, known = r.old[key]; known {
		r.renew(strings.Clone(key), value) // it may be a part of something large
	}
	return value, known
}

// getBytes is get for a key that isn't kept.
func (r *recent[V]) getBytes(key []byte) (value V, known bool) {
	r.mu.Lock()
	value, known = r.young[string(key)]
	r.mu.Unlock()
	if known {
		return value, true
	}
	return r.get(string(key))
}

// add keeps a value, unless there is one under its key. It returns the one that is kept.
func (r *recent[V]) add(key string, value V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.young[key]; ok {
		return known
	}
	if known, ok := r.old[key]; ok {
		value = known
	}
	r.renew(key, value)
	return value
}

// renew makes the value one of the young generation.
func (r *recent[V]) renew(key string, value V) {
	if len(r.young) >= r.limit {
		r.young, r.old = make(map[string]V, r.limit), r.young
	}
	r.young[key] = value
}
