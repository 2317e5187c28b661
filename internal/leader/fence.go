package leader

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Fence says whether a write may begin now, and cuts off those under way when leadership
// ends. It is open from the moment the lease is acquired until the renew deadline, which
// counts from the sending of the last renewal that succeeded. Whoever asks compares with
// the clock, so a process that was stopped for a while finds it closed, whatever its timers
// and goroutines have come to.
//
// Get one from [Elector.Fence], or [Unfenced]. All methods may be called from any goroutine.
type Fence struct {
	lease string
	limit time.Duration // the renew deadline
	now   func() time.Time
	// always is set for a fence that is never closed.
	always bool

	mu     sync.Mutex
	term   *term  // what is open; nil while nothing is
	reason string // why it is closed
}

// Unfenced returns a fence that is always open, for running without leader election.
func Unfenced() *Fence { return &Fence{always: true} }

func newFence(c Config) *Fence {
	return &Fence{lease: c.lease(), limit: c.RenewDeadline, now: time.Now, reason: "the lease has not been acquired yet"}
}

// Check returns nil when a write may begin now. Otherwise the error is an [ErrNotLeading]
// that names the lease, and says why.
func (f *Fence) Check() error {
	leave, err := f.enter(nil)
	if err == nil {
		leave()
	}
	return err
}

// enter does what Check does, and has cancel called when leadership ends before leave is.
func (f *Fence) enter(cancel context.CancelCauseFunc) (leave func(), err error) {
	if f.always {
		return func() {}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.term
	if t != nil && t.late() {
		t.endLocked(f.missed())
	}
	if f.term == nil {
		return nil, f.closed()
	}
	if cancel == nil {
		return func() {}, nil
	}
	return t.attend(cancel), nil
}

// closed returns the error for everything that a closed fence refuses or ends.
func (f *Fence) closed() error {
	return fmt.Errorf("lease %s: %w: %s", f.lease, ErrNotLeading, f.reason)
}

func (f *Fence) missed() string { return fmt.Sprintf("not renewed within %v", f.limit) }

// term is one period of leadership: once it has ended, it does not come back. Its fields
// belong to the mutex of the fence.
type term struct {
	fence    *Fence
	acquired chan struct{} // closed by the first renewal
	deadline time.Time     // zero before that
	over     bool
	timer    *time.Timer
	cancels  map[int]context.CancelCauseFunc
	next     int // key of cancels
}

// newTerm returns a term that begins with its first renewal. When it ends, before or after,
// cancel is called.
func (f *Fence) newTerm(cancel context.CancelCauseFunc) *term {
	return &term{
		fence: f, acquired: make(chan struct{}),
		cancels: map[int]context.CancelCauseFunc{0: cancel}, next: 1,
	}
}

// renewed notes that a renewal succeeded that was sent at the given time. One that is
// known too late doesn't help: between the deadline and now the fence was closed.
func (t *term) renewed(sent time.Time) {
	f := t.fence
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.over {
		return
	}
	first := t.timer == nil
	late := !first && t.late()
	t.deadline = sent.Add(f.limit)
	if late || t.late() {
		t.endLocked(f.missed())
		return
	}
	left := t.deadline.Sub(f.now())
	if !first {
		t.timer.Reset(left)
		return
	}
	t.timer = time.AfterFunc(left, t.expire)
	f.term = t
	close(t.acquired)
}

// expire is for those who don't ask: it ends the term when the deadline has passed.
func (t *term) expire() {
	t.fence.mu.Lock()
	defer t.fence.mu.Unlock()
	// A renewal may have come while the timer fired.
	if t.late() {
		t.endLocked(t.fence.missed())
	}
}

// end ends the term; only the first reason counts.
func (t *term) end(reason string) {
	t.fence.mu.Lock()
	defer t.fence.mu.Unlock()
	t.endLocked(reason)
}

// supplanted ends the term because somebody else holds the lease. Before the lease is
// acquired that is no news: the campaign goes on.
func (t *term) supplanted(holder string) {
	t.fence.mu.Lock()
	defer t.fence.mu.Unlock()
	reason := holder + " holds it"
	if t.timer != nil {
		t.endLocked(reason)
	} else {
		t.fence.reason = reason
	}
}

// endLocked closes the fence and cancels everything under way before it lets go of the
// mutex, so whoever sees the fence closed sees that, too. Canceling runs no code but that
// of package context.
func (t *term) endLocked(reason string) {
	if t.over {
		return
	}
	t.over = true
	t.fence.term, t.fence.reason = nil, reason
	if t.timer != nil {
		t.timer.Stop()
	}
	cause := t.fence.closed()
	for _, cancel := range t.cancels {
		cancel(cause)
	}
	t.cancels = nil
}

func (t *term) late() bool { return !t.fence.now().Before(t.deadline) }

// attend has cancel called when the term ends, until leave is called.
func (t *term) attend(cancel context.CancelCauseFunc) (leave func()) {
	key := t.next
	t.next++
	t.cancels[key] = cancel
	return func() {
		t.fence.mu.Lock()
		defer t.fence.mu.Unlock()
		delete(t.cancels, key)
	}
}
