package catalog

import (
	"net/netip"
	"sync"
)

// dependency names something that a profile can depend on: an object, an IP address of a cluster, or
// the slices of a Service. Exactly one field is set.
type dependency struct {
	object   ID
	address  addressKey
	slicesOf ServiceKey
}

// addressKey names an IP address of a cluster.
type addressKey struct {
	cluster string
	ip      netip.Addr
}

// dependencies maps a dependency to the profile snapshots that have it.
type dependencies struct {
	mu       sync.Mutex
	watchers map[dependency]map[*ProfileSnapshot]struct{}
	stale    []*ProfileSnapshot
}

func newDependencies() dependencies {
	return dependencies{watchers: map[dependency]map[*ProfileSnapshot]struct{}{}}
}

// watch registers a snapshot, which becomes stale when one of its dependencies changes.
func (f *dependencies) watch(s *ProfileSnapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, on := range s.dependsOn {
		if f.watchers[on] == nil {
			f.watchers[on] = map[*ProfileSnapshot]struct{}{}
		}
		f.watchers[on][s] = struct{}{}
	}
}

// forget drops an unused snapshot.
func (f *dependencies) forget(s *ProfileSnapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(s)
}

func (f *dependencies) drop(s *ProfileSnapshot) {
	for _, on := range s.dependsOn {
		delete(f.watchers[on], s)
		if len(f.watchers[on]) == 0 {
			delete(f.watchers, on)
		}
	}
}

// changed makes stale the snapshots with this dependency.
func (f *dependencies) changed(on dependency) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.watchers[on] {
		f.stale = append(f.stale, s)
		f.drop(s)
	}
}

// takeStale returns the snapshots that became stale since the last call.
func (f *dependencies) takeStale() []*ProfileSnapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	stale := f.stale
	f.stale = nil
	return stale
}
