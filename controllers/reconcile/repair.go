package reconcile

import (
	"cmp"
	"time"
)

const (
	// repairFirst and repairLimit bound the delay before what somebody else changed is put right. The
	// first is that of the Kubernetes controllers after a change of a slice.
	repairFirst, repairLimit = time.Second, time.Minute
	// lostLimit bounds the delay before what somebody else deleted is written again: a Service without its objects is
	// worse off than one with objects that differ.
	lostLimit = 5 * time.Second
	// calm is how long nobody may have changed anything for the delay to begin anew.
	calm = 5 * time.Minute
	// takenOften is how many repairs in a row a slice that is taken away each time is worth. Each leaves one slice behind.
	takenOften = 100
	// contestedAfter is how many repairs it takes until it is said that somebody keeps changing the
	// objects of a Service.
	contestedAfter = 5
)

// The Event about a Service whose objects somebody keeps changing.
const (
	Contested        = "ContestedEndpoints"
	ContestedMessage = "Somebody else keeps changing what is written here; it is put right after growing delays. Find out who it is, and stop one of the two"
)

// repair is what is known of the changes that somebody else makes to the objects of a Service.
type repair struct {
	// pending is true from a change to the next sync. The first such change was at the time since, and is put right at
	// the time due. It was made by a field manager, which is empty if that isn't known.
	pending    bool
	since, due time.Time
	by         string
	// count is how many such changes in a row had to be put right, the last one at that time.
	count int
	last  time.Time
}

// ExternalChange is what somebody else has done to an object of a Service.
type ExternalChange int

const (
	// Untouched means that nobody else has done anything.
	Untouched ExternalChange = iota
	// Changed means that the object has other contents.
	Changed
	// Lost means that the object is gone, or lacks endpoints that it had.
	Lost
	// Taken means that the object is another Service's, or another manager's now.
	Taken
)

// Lacking returns Lost for a change after which the object lacks endpoints that it had.
func (m ExternalChange) Lacking(lacks func() bool) ExternalChange {
	if m == Changed && lacks() {
		return Lost
	}
	return m
}

// noteExternalChange notes what somebody else has done to an object of a Service, and returns how long to wait before that is put
// right.
func (t *term) noteExternalChange(key Key, what ExternalChange, by string) time.Duration {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.repairs[key]
	if r == nil {
		r = &repair{}
		t.repairs[key] = r
	}
	if now.Sub(r.last) > calm {
		r.count = 0
	}
	delay := max(t.o.RepairBatch, delayed(what, t.o.RepairFirst, r.count))
	if !r.pending {
		r.pending, r.since, r.due, r.by = true, now, now.Add(delay), by
	}
	r.due = earlier(r.due, now.Add(delay))
	r.by = cmp.Or(by, r.by)
	return delay
}

// delayed returns the delay of a repair after a number of repairs in a row. Whoever deletes doesn't insist on other
// contents, so the first time needs no delay.
func delayed(what ExternalChange, first time.Duration, count int) time.Duration {
	switch {
	case what == Changed, what == Taken && count >= takenOften:
		return backoff(first, repairLimit, count)
	case count == 0:
		return 0
	default:
		return backoff(first, lostLimit, count-1)
	}
}

// wait returns why a Service waits for a repair, if it does.
func (r *repair) wait(now time.Time) (Wait, bool) {
	if r == nil || !r.pending || !r.due.After(now) {
		return Wait{}, false
	}
	return Wait{Since: r.since, Until: r.due, By: r.by, Repairs: r.count}, true
}

// repaired notes a write. It reports whether somebody turns out to keep changing the objects of
// the Service.
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

// forget drops what is known of a Service that is gone.
func (t *term) forget(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.repairs, key)
}
