package reconcile

import (
	"cmp"
	"time"
)

const (
	// repairFirst and repairLimit bound the delay before another writer's change is reverted. The first delay
	// is that of the Kubernetes controllers after a change of a slice.
	repairFirst, repairLimit = time.Second, time.Minute
	// lostLimit caps the delay before a deleted object is restored. It is shorter than repairLimit, because a
	// Service without its objects is worse off than one with objects that differ.
	lostLimit = 5 * time.Second
	// calmPeriod is the time without external changes after which the delays start over.
	calmPeriod = 5 * time.Minute
	// takenLimit is the number of consecutive repairs for a slice that another writer keeps taking over. Each
	// repair leaves one slice behind.
	takenLimit = 100
	// contestedAfter is the number of repairs after which the objects of a Service are reported as contested.
	contestedAfter = 5
)

// The Event on a Service whose objects another writer keeps changing.
const (
	Contested        = "ContestedEndpoints"
	ContestedMessage = "Another writer keeps changing this object; its changes are reverted after growing delays. Find the writer, and stop one of the two"
)

// repair is the state of external changes to the objects of a Service.
type repair struct {
	// pending is true from a change to the next sync. The first such change was at since, and is reverted at
	// due. by is the field manager of the change, empty if unknown.
	pending    bool
	since, due time.Time
	by         string
	// count is how many such changes in a row were reverted, the last one at last. The first one was at began.
	count       int
	began, last time.Time
}

// ExternalChange is another writer's change of an object of a Service.
type ExternalChange int

const (
	// Untouched: there was no external change.
	Untouched ExternalChange = iota
	// Changed: the object has other contents.
	Changed
	// Lost: the object was deleted, or lacks endpoints that it had.
	Lost
	// Taken: the object belongs to another Service or another manager now.
	Taken
)

// Lacking returns Lost for a change that removed endpoints from the object.
func (m ExternalChange) Lacking(lacks func() bool) ExternalChange {
	if m == Changed && lacks() {
		return Lost
	}
	return m
}

// noteExternalChange records another writer's change of an object of a Service, and returns the delay before
// it is reverted.
func (t *term) noteExternalChange(key Key, what ExternalChange, by string) time.Duration {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.repairs[key]
	if r == nil {
		r = &repair{}
		t.repairs[key] = r
	}
	if now.Sub(r.last) > calmPeriod {
		r.count = 0
	}
	if r.count == 0 && !r.pending {
		r.began = now
	}
	delay := max(t.o.RepairBatch, delayed(what, t.o.RepairFirst, r.count))
	if !r.pending {
		r.pending, r.since, r.due, r.by = true, now, now.Add(delay), by
	}
	r.due = earlier(r.due, now.Add(delay))
	r.by = cmp.Or(by, r.by)
	return delay
}

// delayed returns the delay of a repair after a number of repairs in a row. The first deletion is reverted at
// once, because the other writer doesn't insist on other contents.
func delayed(what ExternalChange, first time.Duration, count int) time.Duration {
	switch {
	case what == Changed, what == Taken && count >= takenLimit:
		return backoff(first, repairLimit, count)
	case count == 0:
		return 0
	default:
		return backoff(first, lostLimit, count-1)
	}
}

// wait returns why a Service waits for a repair, and false if it doesn't wait.
func (r *repair) wait(now time.Time) (Wait, bool) {
	if r == nil || !r.pending || !r.due.After(now) {
		return Wait{}, false
	}
	return Wait{Since: r.since, Until: r.due, By: r.by, Repairs: r.count}, true
}

// report returns why a Service waits for a repair or is contested, and false if it is neither.
func (r *repair) report(now time.Time) (Wait, bool) {
	if wait, waits := r.wait(now); waits {
		return wait, true
	}
	if r == nil || r.count < contestedAfter || now.Sub(r.last) > calmPeriod {
		return Wait{}, false
	}
	return Wait{Since: r.began, By: r.by, Repairs: r.count, Repaired: r.last}, true
}

// repaired records a write. It reports whether the Service has become contested.
func (t *term) repaired(key Key, f *flight, now time.Time) (contested bool) {
	r := t.repairs[key]
	if r == nil || !f.repairs || f.repaired {
		return false
	}
	f.repaired = true
	t.o.Metrics.repaired(t.o.Name)
	r.count++
	r.last = now
	return r.count == contestedAfter
}

// forget drops the state of a deleted Service.
func (t *term) forget(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.repairs, key)
}
