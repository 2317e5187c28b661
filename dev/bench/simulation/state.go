package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// firstVersion is the resource version of the first object of each kind, and currentVersion
// that of the cluster as it begins.
const (
	firstVersion   = 1_000
	currentVersion = 10_000_000
)

// Changes are what a benchmark asks the simulated API server to change, in this order. The
// numbers are those of objects.
type Changes struct {
	// Heartbeats are pods whose readiness flips, Labels those whose label flips that a rollout
	// sets, and Slices the slices of which an endpoint becomes unready or ready again.
	Heartbeats, Labels, Slices []int
}

// clusterState is the state of a simulated cluster: what was changed, and who watches.
type clusterState struct {
	Size

	mu       sync.Mutex
	version  int
	changed  map[string]map[int]Edited // by resource and number
	watchers map[*stateWatch]struct{}
}

// stateWatch is an open watch. The lock of its simulation guards the queue.
type stateWatch struct {
	resource string
	queue    []change
	// wake holds a token while something is queued.
	wake chan struct{}
}

// change is an object as it became.
type change struct {
	number int
	Edited
}

func newClusterState(s Size) *clusterState {
	return &clusterState{
		Size: s, version: currentVersion, watchers: map[*stateWatch]struct{}{},
		changed: map[string]map[int]Edited{podResource: {}, sliceResource: {}},
	}
}

// apply makes changes and queues their events.
func (s *clusterState) apply(c Changes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, set := range []struct {
		resource string
		numbers  []int
		limit    int
		change   func(*Edited)
	}{
		{podResource, c.Heartbeats, s.PodCount(), func(e *Edited) { e.Flips++ }},
		{podResource, c.Labels, s.PodCount(), func(e *Edited) { e.labelled++ }},
		{sliceResource, c.Slices, s.Services, func(e *Edited) { e.Flips++ }},
	} {
		for _, i := range set.numbers {
			if i < 0 || i >= set.limit {
				return fmt.Errorf("change %s: there is no number %d; the last is %d", set.resource, i, set.limit-1)
			}
			s.change(set.resource, i, set.change)
		}
	}
	return nil
}

func (s *clusterState) change(resource string, i int, f func(*Edited)) {
	s.version++
	e := s.changed[resource][i]
	f(&e)
	e.version = s.version
	s.changed[resource][i] = e
	for w := range s.watchers {
		if w.resource == resource {
			w.queue = append(w.queue, change{i, e})
			w.signal()
		}
	}
}

func (w *stateWatch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// watch begins a watch with the changes after a version, and returns the version of the cluster.
func (s *clusterState) watch(resource string, after int) (*stateWatch, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &stateWatch{resource: resource, wake: make(chan struct{}, 1)}
	for i, e := range s.changed[resource] {
		if e.version > after {
			w.queue = append(w.queue, change{i, e})
		}
	}
	slices.SortFunc(w.queue, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	if len(w.queue) > 0 {
		w.signal()
	}
	s.watchers[w] = struct{}{}
	return w, s.version
}

func (s *clusterState) unwatch(w *stateWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, w)
}

// next returns what is queued for a watch, in the memory of done, which is over, and the version
// that the watch has then reached.
func (s *clusterState) next(w *stateWatch, done []change) ([]change, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := w.queue
	w.queue = done[:0]
	return queue, s.version
}

// at returns what changed of an object.
func (s *clusterState) at(resource string, i int) Edited {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed[resource][i]
}

// now returns the version of the cluster.
func (s *clusterState) now() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}
