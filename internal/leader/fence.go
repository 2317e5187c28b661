package leader

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Fence reports whether a write may start now, and cancels writes under way when leadership ends. It is open
// from the acquisition of the lease to the renew deadline, which counts from the sending of the last
// successful renewal. Each call compares the deadline with both clocks, monotonic and wall. So a process that
// was paused finds it closed, even if no timer has fired yet.
//
// Get one from [Elector.Fence], or [Unfenced]. All methods may be called from any goroutine.
type Fence struct {
	lease string
	limit time.Duration // the renew deadline
	now   func() time.Time
	// wall returns the wall clock time. Unlike the monotonic clock, it doesn't stop while the machine is
	// suspended.
	wall func() time.Time
	// always is true for a fence that never closes.
	always bool

	mu     sync.Mutex
	term   *term  // the current one; nil while the fence is closed
	reason string // why it is closed
}

// Unfenced returns a fence that is always open, for running without leader election.
func Unfenced() *Fence { return &Fence{always: true} }

func newFence(c Config) *Fence {
	return &Fence{lease: c.lease(), limit: c.RenewDeadline, now: time.Now, wall: wallClock, reason: "the lease has not been acquired yet"}
}

// wallClock returns the present time without its monotonic reading.
func wallClock() time.Time { return time.Now().Round(0) }

// Check returns nil if a write may start now. Otherwise it returns an [ErrNotLeading] with the lease and the
// reason.
func (f *Fence) Check() error {
	_, err := f.enter(nil)
	return err
}

// enter does what Check does. If leadership ends before leave is called, it calls cancel, unless that is nil.
func (f *Fence) enter(cancel context.CancelCauseFunc) (leave func(), err error) {
	if f.always {
		return func() {}, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.term
	if t != nil && t.pastDeadline() {
		t.endLocked(f.missed())
	}
	if f.term == nil {
		return nil, f.closed()
	}
	if cancel == nil {
		return func() {}, nil
	}
	return t.register(cancel), nil
}

// closed returns the error of everything that a closed fence refuses or ends.
func (f *Fence) closed() error {
	return fmt.Errorf("lease %s: %w: %s", f.lease, ErrNotLeading, f.reason)
}

func (f *Fence) missed() string { return fmt.Sprintf("not renewed within %v", f.limit) }

// term is one period of leadership. Once ended, it doesn't start again. The mutex of the fence guards its
// fields.
type term struct {
	fence    *Fence
	acquired chan struct{} // closed by the first renewal
	deadline time.Time     // zero before that
	over     bool
	timer    *time.Timer
	cancels  map[int]context.CancelCauseFunc
	next     int // key of cancels
}

// newTerm returns a term that starts with its first renewal. It calls cancel when it ends, even if it hasn't
// started.
func (f *Fence) newTerm(cancel context.CancelCauseFunc) *term {
	return &term{
		fence: f, acquired: make(chan struct{}),
		cancels: map[int]context.CancelCauseFunc{0: cancel}, next: 1,
	}
}

// renewed records a successful renewal that was sent at the given time. If the response came after the
// deadline, the term ends, because the fence has been closed since.
func (t *term) renewed(sent time.Time) {
	f := t.fence
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.over {
		return
	}
	first := t.timer == nil
	late := !first && t.pastDeadline()
	t.deadline = sent.Add(f.limit)
	if late || t.pastDeadline() {
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

// expire ends the term if the deadline has passed, for users who don't call Check.
func (t *term) expire() {
	t.fence.mu.Lock()
	defer t.fence.mu.Unlock()
	// A renewal may have come while the timer fired.
	if t.pastDeadline() {
		t.endLocked(t.fence.missed())
	}
}

// end ends the term. Only the first reason is kept.
func (t *term) end(reason string) {
	t.fence.mu.Lock()
	defer t.fence.mu.Unlock()
	t.endLocked(reason)
}

// supplanted ends the term because another process holds the lease. Before the lease is acquired, it only
// records the holder, and the campaign continues.
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

// endLocked closes the fence and cancels everything under way. The caller holds the mutex, so that a
// goroutine that finds the fence closed also finds the rest cancelled. Cancelling runs no code outside
// package context.
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

// pastDeadline reports whether the deadline has passed by either clock, because one of them may stand still,
// and the other may be set back.
func (t *term) pastDeadline() bool {
	return !t.fence.now().Before(t.deadline) || !t.fence.wall().Before(t.deadline.Round(0))
}

// register calls cancel when the term ends, unless leave is called before.
func (t *term) register(cancel context.CancelCauseFunc) (leave func()) {
	key := t.next
	t.next++
	t.cancels[key] = cancel
	return func() {
		t.fence.mu.Lock()
		defer t.fence.mu.Unlock()
		delete(t.cancels, key)
	}
}
