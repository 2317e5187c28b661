package catalog

import (
	"net/netip"
	"sync"
)

// fact names something that an answer can depend on: an object, an IP address of a cluster, or
// the slices of a Service. Exactly one field is set.
type fact struct {
	object   ID
	address  addressKey
	slicesOf ServiceKey
}

// addressKey names an IP address as seen in a cluster.
type addressKey struct {
	cluster string
	ip      netip.Addr
}

// facts leads from a fact to the profile snapshots that depend on it.
type facts struct {
	mu       sync.Mutex
	watchers map[fact]map[*ProfileSnapshot]struct{}
	stale    []*ProfileSnapshot
}

func newFacts() facts { return facts{watchers: map[fact]map[*ProfileSnapshot]struct{}{}} }

// watch registers a snapshot, which becomes stale when one of its facts changes.
func (f *facts) watch(s *ProfileSnapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, on := range s.dependsOn {
		if f.watchers[on] == nil {
			f.watchers[on] = map[*ProfileSnapshot]struct{}{}
		}
		f.watchers[on][s] = struct{}{}
	}
}

// forget drops a snapshot that nobody needs any more.
func (f *facts) forget(s *ProfileSnapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(s)
}

func (f *facts) drop(s *ProfileSnapshot) {
	for _, on := range s.dependsOn {
		delete(f.watchers[on], s)
		if len(f.watchers[on]) == 0 {
			delete(f.watchers, on)
		}
	}
}

// changed makes the snapshots stale that depend on a fact.
func (f *facts) changed(on fact) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.watchers[on] {
		f.stale = append(f.stale, s)
		f.drop(s)
	}
}

// takeStale returns the snapshots that became stale since the last call.
func (f *facts) takeStale() []*ProfileSnapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	stale := f.stale
	f.stale = nil
	return stale
}
