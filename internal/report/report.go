// Package report counts and logs the problems of objects, each of them once.
//
// Readers of the API server find the same problem again with every event of the object, and give
// it to [Reporter.Report], which is an objectmeta.Report. Two problems are the same when their object,
// field and reason are. The memory is bounded: the last [Config.Capacity] problems are
// remembered, and a forgotten one counts as new and is logged again. Readers give it few problems
// of one object (kube.ProblemLimit), so that one object can't make it forget those of the others.
// The log names at most 20 of an object in a minute; the metric counts them all.
//
// The last ones can be listed, for the inspection API: [Reporter.Problems]. They are bounded in
// number and bytes, too (kept.go).
//
// The metric object_problems_total has one label, the kind of object. Names and reasons, of which
// there may be many, are in the log only.
//
// The command makes one Reporter for its process; tables, the catalog and the controllers
// report to it.
//
// # Concurrency
//
// Report may be called from any goroutine. A repeated problem costs a lookup under a mutex; the
// log is written outside of it.
package report

import (
	"container/list"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// linesPerMinute is how many problems of one object the log names in a minute. Who edits an object
// again and again makes new problems each time.
const linesPerMinute = 20

// DefaultCapacity is how many problems are remembered when a [Config] doesn't say.
const DefaultCapacity = 1 << 14

// Config says where a [Reporter] reports to.
type Config struct {
	// Registerer takes the metric. Log takes the problems; nil drops them.
	Registerer prometheus.Registerer
	Log        *slog.Logger
	// Capacity is how many problems are remembered; zero means [DefaultCapacity].
	Capacity int
}

// Reporter counts and logs problems. Make one with [New].
type Reporter struct {
	log      *slog.Logger
	total    *prometheus.CounterVec
	capacity int
	seed     maphash.Seed

	mu sync.Mutex
	// recent has the hashes of the remembered problems, the most recent one first; seen finds
	// them. Hashes bound the memory, whatever the length of a reason; after a collision one
	// log line is missing.
	seen   map[uint64]*list.Element
	recent *list.List
	// minute is when the present minute began, and lines what was logged in it by the hashes of
	// objects; it has no more than the capacity.
	minute time.Time
	lines  map[uint64]int
	// kept are those that can be listed.
	kept *kept
}

// New returns a reporter. It fails when the Registerer refuses the metric.
func New(c Config) (*Reporter, error) {
	total := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "object_problems_total",
		Help: "Distinct problems met in objects of the API server, each of which the log names once.",
	}, []string{"kind"})
	if err := c.Registerer.Register(total); err != nil {
		return nil, fmt.Errorf("register the metric object_problems_total: %w: make one reporter per registry", err)
	}
	if c.Capacity <= 0 {
		c.Capacity = DefaultCapacity
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Reporter{
		log:      c.Log,
		total:    total,
		capacity: c.Capacity,
		seed:     maphash.MakeSeed(),
		seen:     make(map[uint64]*list.Element),
		recent:   list.New(),
		kept:     newKept(),
	}, nil
}

// Report is an objectmeta.Report: it counts and logs a problem unless it remembers it.
func (r *Reporter) Report(p objectmeta.Problem) {
	if !r.remember(p, maphash.Comparable(r.seed, p)) {
		return
	}
	r.total.WithLabelValues(p.Kind).Inc()
	log := r.log
	if p.Cluster != "" {
		log = log.With("cluster", p.Cluster)
	}
	of := objectmeta.Problem{Kind: p.Kind, Cluster: p.Cluster, Namespace: p.Namespace, Name: p.Name}
	switch n := r.line(maphash.Comparable(r.seed, of), time.Now()); {
	case n == linesPerMinute+1:
		log.Warn("Further problems of an object are not logged for a minute", "kind", p.Kind, "namespace", p.Namespace, "name", p.Name)
		return
	case n > linesPerMinute:
		return
	}
	log.Warn("Part of an object can't be used",
		"kind", p.Kind, "namespace", p.Namespace, "name", p.Name, "field", p.Field, "reason", p.Reason)
}

// remember reports whether the problem is new.
func (r *Reporter) remember(p objectmeta.Problem, hash uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept.met(p, hash, time.Now())
	if e, ok := r.seen[hash]; ok {
		r.recent.MoveToFront(e)
		return false
	}
	if r.recent.Len() == r.capacity {
		oldest := r.recent.Remove(r.recent.Back()).(uint64)
		delete(r.seen, oldest)
	}
	r.seen[hash] = r.recent.PushFront(hash)
	return true
}

// line returns how many problems of an object are new in the present minute, this one included.
func (r *Reporter) line(of uint64, now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.minute) >= time.Minute || len(r.lines) >= r.capacity {
		r.minute, r.lines = now, map[uint64]int{}
	}
	r.lines[of]++
	return r.lines[of]
}
