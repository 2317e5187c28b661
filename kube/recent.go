package kube

import (
	"strings"
	"sync"
)

// The limits of what a scope remembers. A large cluster has fewer bytes of these than a tenant can
// write in a minute, so both the number of values and their bytes are limited, and what is long
// isn't shared at all: it is not what many objects repeat.
const (
	// stringsLimit is how many strings a generation of a scope holds: the label values, node
	// names and the like of a large cluster.
	stringsLimit = 1 << 16
	// stringsBytes is how many bytes they have, stringLength how many one of them has.
	stringsBytes = 2 << 20
	stringLength = 128
	// sharedLimit is how many other values a generation holds, such as sets of labels;
	// sharedBytes is how many bytes their keys have, keyLength how many one key has. A value
	// is about as long as its key.
	sharedLimit = 1 << 13
	sharedBytes = 2 << 20
	keyLength   = 4 << 10
)

// bounds are the limits of a [internCache].
type bounds struct {
	// values and bytes are those of a generation; length is that of one key.
	values, bytes, length int
}

// internCache keeps values by key for as long as somebody asks for them. Its memory is bounded: it
// forgets a value that nobody asked for while a whole generation was added. A forgotten value
// may then exist twice in memory, which does no harm. (Package unique doesn't fit: it forgets a
// value at once when nobody holds its Handle.)
//
// A recent may be used from any goroutine.
type internCache[V any] struct {
	mu         sync.Mutex
	young, old map[string]V
	bytes      int // of the keys of young
	bounds     bounds
}

func newInternCache[V any](b bounds) *internCache[V] {
	return &internCache[V]{young: map[string]V{}, bounds: b}
}

// keeps reports whether a key of this length can be kept at all.
func (r *internCache[V]) keeps(length int) bool { return length <= r.bounds.length }

// get returns the value of a key, and whether there is one.
func (r *internCache[V]) get(key string) (value V, known bool) {
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

// add keeps a value, unless there is one under its key or the key is too long. It returns the
// one that is kept.
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

// renew makes the value one of the young generation.
func (r *internCache[V]) renew(key string, value V) {
	if len(r.young) >= r.bounds.values || r.bytes+len(key) > r.bounds.bytes {
		r.young, r.old = make(map[string]V, len(r.young)), r.young
		r.bytes = 0
	}
	r.young[key] = value
	r.bytes += len(key)
}
