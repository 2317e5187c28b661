// Package witness watches what a run of the lab does, and writes it into the history: what is true, and what
// is said.
//
//   - A [Cluster] reads each revision of etcd itself, past the API server and its faults.
//   - A [Zone] reads each serial of a zone from its name server.
//   - [Streams] are clients of the Destination API and of xDS that keep asking.
//
// A witness judges nothing. It outlives the faults of what it watches: whatever can be caught up with later
// is. Run returns an error when something may have been missed: that is a failure of the lab, not a finding.
//
// Each is made by its New function and runs until the context of Run ends; Run is called once. All other
// methods may be called from any goroutine, before, during and after Run.
//
// Read witness.go first, then cluster.go and stored.go (what etcd stores), zone.go and transfer.go (what a
// name server answers), streams.go and said.go (what a replica says to proxies of Linkerd), assignments.go
// and ads.go (to clients of xDS).
package witness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// Recorder is what a witness needs of [history.Recorder].
type Recorder interface {
	// Record adds an entry; one without a time gets that of now.
	Record(e history.Entry)
	// Now is the time since the start of the run.
	Now() time.Duration
}

// errEnded is why nothing more comes after Run has returned.
var errEnded = errors.New("the witness has ended")

// progress is how far a witness is, for those who wait until it is further.
type progress[T any] struct {
	mu      sync.Mutex
	at      T
	problem error // of the last attempt
	ended   bool
	changed chan struct{} // closed by the next change
}

func newProgress[T any]() *progress[T] { return &progress[T]{changed: make(chan struct{})} }

// edit changes the progress and wakes all who wait.
func (p *progress[T]) edit(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	close(p.changed)
	p.changed = make(chan struct{})
}

// reach sets how far the witness is.
func (p *progress[T]) reach(at T) { p.edit(func() { p.at, p.problem = at, nil }) }

// fail says why the witness gets no further for now; nil if it does.
func (p *progress[T]) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = err
}

// end says that the witness gets no further at all.
func (p *progress[T]) end(err error) {
	p.edit(func() {
		if p.ended = true; err != nil {
			p.problem = err
		}
	})
}

func (p *progress[T]) get() T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// wait returns nil as soon as enough is true of the progress.
func (p *progress[T]) wait(ctx context.Context, enough func(T) bool) error {
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

// rest waits, or returns false because ctx has ended.
func rest(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
