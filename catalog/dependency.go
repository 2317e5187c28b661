package catalog

import (
	"net/netip"
	"sync"
)

// dependency names something that a watch can depend on: an object, an IP address of a cluster, or the slices
// of a Service. Exactly one field is set. An object of kind Service without a name stands for the list of the
// Services of a namespace, and without a namespace for that of all.
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

// watch is the part of a snapshot that becomes stale when one of its dependencies changes.
type watch struct {
	dependsOn    []dependency
	stale        chan struct{}
	dependencies *dependencies
}

// Stale returns a channel that closes when the snapshot is out of date.
func (w *watch) Stale() <-chan struct{} { return w.stale }

// Release ends the use of the snapshot. The channel of Stale may never close after that.
func (w *watch) Release() { w.dependencies.forget(w) }

// dependencies maps a dependency to the watches that have it.
type dependencies struct {
	mu       sync.Mutex
	watchers map[dependency]map[*watch]struct{}
	stale    []*watch
}

// newWatch returns a watch without dependencies, to be registered with add.
func (f *dependencies) newWatch() watch { return watch{stale: make(chan struct{}), dependencies: f} }

func (f *dependencies) add(w *watch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, on := range w.dependsOn {
		if f.watchers[on] == nil {
			f.watchers[on] = map[*watch]struct{}{}
		}
		f.watchers[on][w] = struct{}{}
	}
}

// forget drops the watch of an unused snapshot.
func (f *dependencies) forget(w *watch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(w)
}

func (f *dependencies) drop(w *watch) {
	for _, on := range w.dependsOn {
		delete(f.watchers[on], w)
		if len(f.watchers[on]) == 0 {
			delete(f.watchers, on)
		}
	}
}

// changed makes stale the watches with this dependency.
func (f *dependencies) changed(on dependency) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers[on] {
		f.stale = append(f.stale, w)
		f.drop(w)
	}
}

// takeStale returns the watches that became stale since the last call.
func (f *dependencies) takeStale() []*watch {
	f.mu.Lock()
	defer f.mu.Unlock()
	stale := f.stale
	f.stale = nil
	return stale
}
