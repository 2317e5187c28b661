package kube

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// reportedLimit is how many objects of a feed are remembered. Fixes of further objects are not reported.
const reportedLimit = 4096

// reported remembers the objects of a feed whose last version had problems, so that fixes are reported.
type reported struct {
	report objectmeta.Report
	fixed  objectmeta.Fixed
	// cluster is the name of the cluster in problems, which is empty for our own.
	cluster string
	// some is the number of objects, so that a version of an object costs no lock while there are none.
	some atomic.Int64

	mu sync.Mutex
	of map[key]met
}

// met is an object, as a problem without field and reason, and when its last problem was reported.
type met struct {
	object objectmeta.Problem
	at     time.Time
}

func newReported(b binding) *reported {
	r := &reported{report: b.report, fixed: b.fixed, cluster: b.scope.Cluster, of: map[key]met{}}
	if r.cluster == DefaultName {
		r.cluster = ""
	}
	return r
}

func (r *reported) add(p objectmeta.Problem) {
	p.Cluster = r.cluster
	r.report(p)
	if r.fixed == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{p.Namespace, p.Name}
	if _, known := r.of[k]; !known && len(r.of) == reportedLimit {
		return
	}
	p.Field, p.Reason = "", ""
	r.of[k] = met{p, time.Now()}
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
