// Package witness observes a run of the lab and records it in the history: the true state of the cluster and
// the zone, and what clients are told.
//
//   - A [Cluster] reads each revision from etcd, not through the API server and its faults.
//   - A [Zone] reads each serial of a zone from its name server.
//   - [Streams] are clients of the Destination API and of xDS that always reconnect.
//
// A witness checks nothing. It survives the faults of what it observes, and catches up afterwards. Run
// returns an error if something may have been missed. That is a failure of the lab, not a finding.
//
// Each is created by its New function and runs until the context of Run ends. Run is called once. All other
// methods may be called from any goroutine, before, during and after Run.
package witness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// Recorder is the part of [history.Recorder] that witnesses use.
type Recorder interface {
	// Record adds an entry. An entry without a time gets the current one.
	Record(e history.Entry)
	// Now is the time since the start of the run.
	Now() time.Duration
}

// errEnded is the error of a wait after Run has returned.
var errEnded = errors.New("the witness has ended")

// progress is the position of the witness of a cluster, with waiters.
type progress struct {
	mu      sync.Mutex
	at      int64
	problem error // of the last attempt
	ended   bool
	changed chan struct{} // closed by the next change
}

func newProgress() *progress { return &progress{changed: make(chan struct{})} }

// edit changes the progress and wakes all who wait.
func (p *progress) edit(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

// reach sets the position.
func (p *progress) reach(at int64) { p.edit(func() { p.at, p.problem = at, nil }) }

// fail sets why the witness makes no progress for now; nil if it does.
func (p *progress) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = err
}

// end ends the progress for ever.
func (p *progress) end(err error) {
	p.edit(func() {
		if p.ended = true; err != nil {
			p.problem = err
		}
	})
}

func (p *progress) get() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// wait waits until enough is true for the position.
func (p *progress) wait(ctx context.Context, enough func(int64) bool) error {
	for {
		p.mu.Lock()
		at, problem, ended, changed := p.at, p.problem, p.ended, p.changed
		p.mu.Unlock()
		switch {
		case enough(at):
			return nil
		case ended:
			return errors.Join(errEnded, problem)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if problem != nil {
				return fmt.Errorf("%w; the last attempt: %w", ctx.Err(), problem)
			}
			return ctx.Err()
		}
	}
}
