// Package report counts and logs the problems of objects, each of them once. Package process makes one
// [Reporter]; tables, linked clusters and the destination role report to it.
//
// Readers of the API server meet the same problem with every event of the object, and pass it to
// [Reporter.Report], which is an objectmeta.Report. Two problems are the same if their object, field and
// reason are equal. The last [Config.Capacity] problems are remembered; a forgotten one counts as new and is
// logged again. Callers report at most kube.ProblemLimit problems per object, so that one bad object can't
// evict the others'. Per minute, the log has at most 20 problems of an object, 200 of a namespace and 1,000 of
// a linked cluster, because whoever writes there can make any number of objects; the metric counts all.
//
// [Reporter.Problems] lists the last ones for the inspection API, bounded in number and bytes. The metric
// object_problems_total has the kind of object as its only label; names and reasons, which may be many, are
// in the log only.
//
// # Concurrency
//
// Report may be called from any goroutine. A repeated problem costs a lookup under a mutex; the log is
// written outside of it.
package report

import (
	"container/list"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/lru"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// How many problems are logged per minute. Each edit of an object may make new problems, a tenant may make any
// number of objects in its namespace, and a linked cluster may have any number of namespaces.
const (
	linesPerObject    = 20
	linesPerNamespace = 200
	linesPerCluster   = 1000
)

// DefaultCapacity is the default of [Config].Capacity.
const DefaultCapacity = 1 << 14

// Config configures a [Reporter].
type Config struct {
	// Registerer registers the metric. Log logs the problems; nil discards them.
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
	// seen has the hashes of the remembered problems. Hashes bound the memory, whatever the length of a reason.
	// A collision costs one log line.
	seen *lru.Cache
	// minute is the start of the present minute, and lines the number of lines in it, by the hash of the object,
	// namespace or linked cluster. It has at most capacity entries.
	minute time.Time
	lines  map[uint64]int
	// problems has the problems that can be listed.
	problems *problemList
}

// New returns a reporter. It fails if the Registerer refuses the metric.
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
		seen:     lru.New(c.Capacity),
		problems: &problemList{order: list.New(), byHash: map[uint64]*list.Element{}, byObject: map[objectmeta.Problem][]uint64{}, weights: map[group]int{}},
	}, nil
}

// Report is an objectmeta.Report: it counts and logs a problem that it doesn't remember.
func (r *Reporter) Report(p objectmeta.Problem) {
	if !r.remember(p, maphash.Comparable(r.seed, p)) {
		return
	}
	r.total.WithLabelValues(p.Kind).Inc()
	log := r.log
	if p.Cluster != "" {
		log = log.With("cluster", p.Cluster)
	}
	switch reached, first := r.exceeded(p, time.Now()); {
	case first:
		log.Warn("Further problems are not logged for a minute: signpost problems lists the latest",
			append([]any{"of", reached.scope}, reached.attrs...)...)
		return
	case reached.scope != "":
		return
	}
	log.Warn("Part of an object can't be used",
		"kind", p.Kind, "namespace", p.Namespace, "name", p.Name, "field", p.Field, "reason", p.Reason)
}

// remember reports whether the problem is new.
func (r *Reporter) remember(p objectmeta.Problem, hash uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems.record(p, hash, time.Now())
	_, known := r.seen.Get(hash)
	r.seen.Add(hash, nil)
	return !known
}

// limit is a limit on the lines about a scope: a linked cluster, a namespace or an object.
type limit struct {
	scope string
	hash  uint64
	lines int
	// attrs are the attributes of the log that name the scope, besides the cluster.
	attrs []any
}

// limits returns the limits for a problem, the widest scope first.
func (r *Reporter) limits(p objectmeta.Problem) []limit {
	namespace := objectmeta.Problem{Cluster: p.Cluster, Namespace: p.Namespace}
	limits := []limit{
		{"a namespace", maphash.Comparable(r.seed, namespace), linesPerNamespace, []any{"namespace", p.Namespace}},
		{"an object", maphash.Comparable(r.seed, objectOf(p)), linesPerObject, []any{"kind", p.Kind, "namespace", p.Namespace, "name", p.Name}},
	}
	if p.Cluster == "" {
		return limits
	}
	cluster := limit{"a linked cluster", maphash.Comparable(r.seed, objectmeta.Problem{Cluster: p.Cluster}), linesPerCluster, nil}
	return append([]limit{cluster}, limits...)
}

// exceeded counts the line about a new problem. If one of the limits for the present minute is reached, nothing
// is counted, and it returns that limit, and whether it is the first time.
func (r *Reporter) exceeded(p objectmeta.Problem, now time.Time) (reached limit, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.minute) >= time.Minute || len(r.lines) >= r.capacity {
		r.minute, r.lines = now, map[uint64]int{}
	}
	limits := r.limits(p)
	for _, l := range limits {
		if lines := r.lines[l.hash]; lines >= l.lines {
			r.lines[l.hash] = l.lines + 1
			return l, lines == l.lines
		}
	}
	for _, l := range limits {
		r.lines[l.hash]++
	}
	return limit{}, false
}
