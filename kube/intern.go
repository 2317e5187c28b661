package kube

import (
	"strings"
	"sync"
)

// internLimit is how many strings a generation of an interner holds: the label
// values, node names and the like of a large cluster.
const internLimit = 1 << 16

// labelSetsLimit is how many sets of labels a generation holds.
const labelSetsLimit = 1 << 13

// interner makes equal strings share their memory. It forgets what wasn't
// asked for while a whole generation filled up, so it can't grow without bound; a
// forgotten string is merely stored twice. (Package unique can't do it:
// it forgets at once what nobody holds a Handle of.)
//
// An interner may be used from any goroutine.
type interner struct {
	mu         sync.Mutex
	young, old map[string]string
	limit      int
}

func newInterner(limit int) *interner {
	return &interner{young: map[string]string{}, old: nil, limit: limit}
}

// internBytes returns a string equal to s, which it doesn't keep.
func (n *interner) internBytes(s []byte) string {
	n.mu.Lock()
	known, ok := n.young[string(s)]
	n.mu.Unlock()
	if ok {
		return known
	}
	return n.intern(string(s))
}

// intern returns a string equal to s.
func (n *interner) intern(s string) string {
	if s == "" {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, ok := n.young[s]; ok {
		return known
	}
	known, ok := n.old[s]
	if !ok {
		// A copy, because s may be a part of something large.
		known = strings.Clone(s)
	}
	if len(n.young) >= n.limit {
		n.young, n.old = make(map[string]string, n.limit), n.young
	}
	n.young[known] = known
	return known
}
