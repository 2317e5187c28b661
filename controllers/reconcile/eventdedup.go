package reconcile

import (
	"slices"
	"sync"
)

// EventDedup remembers the problems, of type P, that were last reported for each Service, so that an Event is
// not sent again for the same problem.
type EventDedup[P comparable] struct {
	mu   sync.Mutex
	last map[Key][]P
}

// Unreported returns the problems of a Service that weren't reported last time, and remembers all of them.
func (t *EventDedup[P]) Unreported(service Key, all ...P) []P {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.last[service]
	if len(all) == 0 {
		delete(t.last, service)
		return nil
	}
	if t.last == nil {
		t.last = map[Key][]P{}
	}
	t.last[service] = all
	return slices.DeleteFunc(slices.Clone(all), func(p P) bool { return slices.Contains(known, p) })
}

// Forget drops everything.
func (t *EventDedup[P]) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = nil
}
