package kube

import (
	"strings"
	"sync"
)

// Limits of a scope's caches. A tenant can write more values in a minute than a large cluster needs, so both
// their number and their bytes are limited. Long values are not shared, because objects rarely repeat them.
const (
	// stringsLimit is how many strings a generation holds: label values, node names and the like.
	stringsLimit = 1 << 16
	// stringsBytes bounds the bytes of a generation of strings, stringLength those of one string.
	stringsBytes = 2 << 20
	stringLength = 128
	// sharedLimit is how many other values a generation holds, such as sets of labels. sharedBytes bounds the
	// bytes of their keys, keyLength those of one key. A value is about as long as its key.
	sharedLimit = 1 << 13
	sharedBytes = 2 << 20
	keyLength   = 4 << 10
)

// bounds are the limits of an [internCache].
type bounds struct {
	// values and bytes are limits per generation; length is the limit for one key.
	values, bytes, length int
}

// internCache caches values by key for as long as they are requested. Its memory is bounded: it evicts a
// value that nobody requested while a whole generation was added. An evicted value may then exist twice in
// memory, which is harmless. (Package unique doesn't fit: it drops a value as soon as its last Handle is
// gone.)
//
// An internCache may be used from any goroutine.
type internCache[V any] struct {
	mu         sync.Mutex
	young, old map[string]V
	bytes      int // of the keys of young
	bounds     bounds
}

func newInternCache[V any](b bounds) *internCache[V] {
	return &internCache[V]{young: map[string]V{}, bounds: b}
}

// keeps reports whether a key of this length can be cached.
func (r *internCache[V]) keeps(length int) bool { return length <= r.bounds.length }

func (r *internCache[V]) get(key string) (value V, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, known = r.young[key]; known {
		return value, true
	}
	if value, known = r.old[key]; known {
		r.renew(strings.Clone(key), value) // key may be part of a large string
	}
	return value, known
}

// getBytes is get for a key that isn't kept.
func (r *internCache[V]) getBytes(key []byte) (value V, known bool) {
	if !r.keeps(len(key)) {
		return value, false
	}
	r.mu.Lock()
	value, known = r.young[string(key)]
	r.mu.Unlock()
	if known {
		return value, true
	}
	return r.get(string(key))
}

// add caches a value, unless its key has one or is too long. It returns the cached value.
func (r *internCache[V]) add(key string, value V) V {
	if !r.keeps(len(key)) {
		return value
	}
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

// renew moves the value to the young generation.
func (r *internCache[V]) renew(key string, value V) {
	if len(r.young) >= r.bounds.values || r.bytes+len(key) > r.bounds.bytes {
		r.young, r.old = make(map[string]V, len(r.young)), r.young
		r.bytes = 0
	}
	r.young[key] = value
	r.bytes += len(key)
}
