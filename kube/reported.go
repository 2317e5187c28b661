package kube

import (
	"sync"
	"sync/atomic"
	"time"
)

// Fixed receives an object whose problems that were reported before a time are fixed: a newer version of the
// object lacks them, or the object is gone. It is called from many goroutines, and must not block.
type Fixed func(of ObjectRef, before time.Time)

// reportedLimit is how many objects of a feed are remembered. Fixes of further objects are not reported.
const reportedLimit = 4096

// reported remembers the objects of a feed whose last version had problems, so that fixes are reported.
type reported struct {
	report Report
	fixed  Fixed
	// some is the number of objects, so that a version of an object costs no lock while there are none.
	some atomic.Int64

	mu sync.Mutex
	of map[key]met
}

// met is an object, and when its last problem was reported.
type met struct {
	object ObjectRef
	at     time.Time
}

func newReported(report Report, fixed Fixed) *reported {
	return &reported{report: report, fixed: fixed, of: map[key]met{}}
}

// add reports a problem of an object.
func (r *reported) add(of ObjectRef, p Problem) {
	r.report(of, p)
	if r.fixed == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{of.Namespace, of.Name}
	if _, known := r.of[k]; !known && len(r.of) == reportedLimit {
		return
	}
	r.of[k] = met{of, time.Now()}
	r.some.Store(int64(len(r.of)))
}

// begin returns the time for [reported.end].
func (r *reported) begin() time.Time {
	if r.some.Load() == 0 {
		return time.Time{}
	}
	return time.Now()
}

// end reports as fixed what a version of an object, whose problems were reported since begun, no longer has.
func (r *reported) end(k key, begun time.Time) {
	if begun.IsZero() {
		return
	}
	r.mu.Lock()
	last, known := r.of[k]
	if known && last.at.Before(begun) {
		r.forget(k)
	}
	r.mu.Unlock()
	if known {
		r.fixed(last.object, begun)
	}
}

// gone reports all problems of the objects for which deleted returns true as fixed.
func (r *reported) gone(deleted func(key) bool) {
	if r.some.Load() == 0 {
		return
	}
	var all []met
	r.mu.Lock()
	for k, last := range r.of {
		if deleted(k) {
			all = append(all, last)
			r.forget(k)
		}
	}
	r.mu.Unlock()
	for _, last := range all {
		// Another reader of the object may have reported problems since.
		r.fixed(last.object, last.at.Add(1))
	}
}

func (r *reported) forget(k key) {
	delete(r.of, k)
	r.some.Store(int64(len(r.of)))
}
