package reconcile

import "sync"

// Told remembers what was last told about each Service, so that an Event isn't sent
// again for each attempt that fails in the same way.
type Told struct {
	mu   sync.Mutex
	last map[Key]string
}

// News reports whether a text is new, and not empty, and remembers it. The empty text
// says that all is well.
func (t *Told) News(service Key, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text == "" {
		delete(t.last, service)
		return false
	}
	if t.last == nil {
		t.last = map[Key]string{}
	}
	known := t.last[service]
	t.last[service] = text
	return known != text
}
