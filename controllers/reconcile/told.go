package reconcile

import (
	"slices"
	"sync"
)

// EventDedup remembers what was last told about each Service, in pieces of type P, so that an
// Event isn't sent again for each sync that finds the same.
type EventDedup[P comparable] struct {
	mu   sync.Mutex
	last map[Key][]P
}

// Unreported returns what there is to tell about a Service that wasn't told last time, and
// remembers all of it.
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
