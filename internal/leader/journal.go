package leader

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The kinds of requests for the lease.
const (
	read  = "read"
	write = "write"
)

// journal logs the changes of leadership and of the lease, and has the metrics. The elector writes to it. Any
// goroutine may read the current leader from it.
type journal struct {
	log      *slog.Logger
	identity string
	terms    prometheus.Counter
	failures prometheus.Counter
	ahead    prometheus.Gauge
	// tolerance is how much the clocks may differ without a log line.
	tolerance time.Duration

	mu      sync.Mutex
	holder  string          // as last seen
	since   time.Time       // acquire time in the lease
	seen    time.Time       // when the lease was last read
	failing map[string]bool // reads, writes
	// trouble is the last error of the failing requests, and troubled the time of the first one.
	trouble  error
	troubled time.Time
	// lasts is the lease duration. A holder that was seen longer ago may no longer lead.
	lasts time.Duration
	// logged is true if failures were logged and their end wasn't yet.
	logged bool
	// clock is the holder's clock. clocksDiffer is true if a difference from our clock was logged.
	clock        holderClock
	clocksDiffer bool
}

// newJournal returns a journal and registers its metrics.
func newJournal(c Config, fence *Fence) (*journal, error) {
	name := prometheus.Labels{"name": c.Name}
	j := &journal{
		log:      c.Log.With("lease", c.lease()),
		identity: c.Identity,
		terms: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "leader_election_terms_total", Help: "How often this process became the leader.", ConstLabels: name,
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "leader_election_failures_total", Help: "Failed requests for the lease.", ConstLabels: name,
		}),
		ahead: prometheus.NewGauge(prometheus.GaugeOpts{
			Name:        "leader_election_clock_ahead_seconds",
			Help:        "By how many seconds the clock of this process is ahead of the clock of the process that leads, at least; negative if it is behind.",
			ConstLabels: name,
		}),
		tolerance: c.grace(),
		lasts:     c.LeaseDuration,
		failing:   map[string]bool{},
	}
	// The name is that of client-go's metric, which can't be used because its provider is global.
	status := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "leader_election_master_status", Help: "1 while this process is the leader, 0 otherwise.", ConstLabels: name,
	}, func() float64 {
		if fence.Check() != nil {
			return 0
		}
		return 1
	})
	for _, metric := range []prometheus.Collector{status, j.terms, j.failures, j.ahead} {
		if err := c.Registerer.Register(metric); err != nil {
			return nil, fmt.Errorf("register metrics of leader election for lease %s: %w: make one elector per lease and registry", c.lease(), err)
		}
	}
	return j, nil
}

// observe records the holder of the lease, and the time since when it holds the lease.
func (j *journal) observe(holder string, since time.Time) {
	j.mu.Lock()
	changed := holder != j.holder
	j.holder, j.since, j.seen = holder, since, time.Now()
	if changed {
		// While another process holds the lease, nothing is written.
		delete(j.failing, write)
	}
	recovered := j.recovered()
	j.mu.Unlock()
	j.logRecovered(recovered)
	if changed && holder != "" && holder != j.identity {
		j.log.Info("Another process leads", "holder", holder)
	}
}

// compareClocks compares the clock of another holder with ours, from a read of the lease.
func (j *journal) compareClocks(holder string, renewed, sent, responded time.Time) {
	if holder == j.identity {
		holder = ""
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	ahead, known := j.clock.observe(holder, renewed, sent, responded)
	if !known {
		return
	}
	j.ahead.Set(ahead.Seconds())
	if clocksDiffer := ahead.Abs() > j.tolerance; clocksDiffer != j.clocksDiffer {
		j.clocksDiffer = clocksDiffer
		j.logClocks(holder, ahead)
	}
}

// logClocks logs that clocks differ, or no longer do. A constant difference is harmless. A growing one is
// not, because then one of the clocks runs too fast or too slowly.
func (j *journal) logClocks(holder string, ahead time.Duration) {
	if j.clocksDiffer {
		j.log.Warn("The clocks of this process and of the leader differ: synchronize the clocks of their nodes, and check whether the difference grows", "holder", holder, "ahead", ahead)
	} else {
		j.log.Info("The clocks of this process and of the leader agree again", "holder", holder)
	}
}

// lastHolder returns the holder that was seen last, however long ago.
func (j *journal) lastHolder() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.holder
}

// leading returns the leader, and the time since when it leads. The leader is empty if nobody leads, or if
// the lease has not been read for its duration.
func (j *journal) leading() (holder string, since time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if time.Since(j.seen) > j.lasts {
		return "", time.Time{}
	}
	return j.holder, j.since
}

// failed records a failed read or write of the lease.
func (j *journal) failed(what string, err error) {
	j.failures.Inc()
	j.mu.Lock()
	first := !j.failing[what]
	if len(j.failing) == 0 {
		j.troubled = time.Now()
	}
	j.failing[what], j.logged, j.trouble = true, true, err
	j.mu.Unlock()
	if first {
		j.log.Warn("Requests for the lease fail, retrying", "request", what, "err", err)
	}
}

// troubles returns the time since when requests for the lease fail, and the error; nil if they don't fail.
func (j *journal) troubles() (since time.Time, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.failing) == 0 {
		return time.Time{}, nil
	}
	return j.troubled, j.trouble
}

// succeeded records a successful read, or read and write, of the lease.
func (j *journal) succeeded(what ...string) {
	j.mu.Lock()
	for _, w := range what {
		delete(j.failing, w)
	}
	recovered := j.recovered()
	j.mu.Unlock()
	j.logRecovered(recovered)
}

// recovered reports, once, that logged failures are over. The caller holds the lock.
func (j *journal) recovered() bool {
	if !j.logged || len(j.failing) > 0 {
		return false
	}
	j.logged = false
	return true
}

func (j *journal) logRecovered(recovered bool) {
	if recovered {
		j.log.Info("Requests for the lease succeed again")
	}
}

func (j *journal) began() {
	j.terms.Inc()
	j.mu.Lock()
	j.clock, j.clocksDiffer = holderClock{}, false
	j.mu.Unlock()
	j.ahead.Set(0)
	j.log.Info("Leading", "identity", j.identity)
}

func (j *journal) ended(reason error) { j.log.Info("Stopped leading", "reason", reason) }

// workFailed logs the error of the work after leadership was lost. The error has no other effect, because the
// next leader starts anew.
func (j *journal) workFailed(err error) {
	if err != nil && !contextEnded(err) {
		j.log.Warn("Work failed while leadership was lost", "err", err)
	}
}
