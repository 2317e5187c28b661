// Package tally makes attempts at a constant rate, counts those that fail, and compares the counts of two
// sides.
//
// Attempts run in goroutines of their own, so that a slow one delays no other. Everything here may
// be called from any goroutine.
package tally

import (
	"slices"
	"sync"
	"time"
)

// Attempt does something once. It returns who answered, or the kind of the failure.
type Attempt func() (by, failure string)

// Outcome is what became of an attempt.
type Outcome struct {
	Begun   time.Time
	Ended   time.Time
	By      string // who answered, if nothing failed
	Failure string // kind of the failure, or empty
}

// Load makes attempts until it is stopped.
type Load struct {
	attempt Attempt
	stop    chan struct{}
	stopped chan struct{}
	running sync.WaitGroup
	slots   chan struct{}

	mu       sync.Mutex
	outcomes []Outcome
}

// mostAtOnce bounds the attempts that run at the same time, for machines that are too slow.
const mostAtOnce = 1000

// Start makes up to perSecond attempts a second: fewer if the machine is too slow for that.
func Start(perSecond int, attempt Attempt) *Load {
	l := &Load{attempt: attempt, stop: make(chan struct{}), stopped: make(chan struct{}), slots: make(chan struct{}, mostAtOnce)}
	go l.run(time.Second / time.Duration(perSecond))
	return l
}

func (l *Load) run(every time.Duration) {
	defer close(l.stopped)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		select {
		case l.slots <- struct{}{}:
			l.running.Go(l.once)
		default:
		}
	}
}

func (l *Load) once() {
	begun := time.Now()
	by, failure := l.attempt()
	o := Outcome{Begun: begun, Ended: time.Now(), By: by, Failure: failure}
	<-l.slots
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes = append(l.outcomes, o)
}

// Stop ends the load, waits for the attempts that run, and returns all outcomes, in the order in which they
// began.
func (l *Load) Stop() Outcomes {
	close(l.stop)
	<-l.stopped
	l.running.Wait()
	return l.Outcomes()
}

// Outcomes returns the outcomes so far, in the order in which the attempts began.
func (l *Load) Outcomes() Outcomes {
	l.mu.Lock()
	defer l.mu.Unlock()
	sorted := slices.Clone(l.outcomes)
	slices.SortStableFunc(sorted, func(a, b Outcome) int { return a.Begun.Compare(b.Begun) })
	return sorted
}

// Outcomes are outcomes in the order in which the attempts began.
type Outcomes []Outcome

// Since returns the outcomes of attempts that began at t or later.
func (o Outcomes) Since(t time.Time) Outcomes {
	i, _ := slices.BinarySearchFunc(o, t, func(a Outcome, t time.Time) int { return a.Begun.Compare(t) })
	return o[i:]
}

// Failed returns the number of failures.
func (o Outcomes) Failed() (count int) {
	for _, a := range o {
		if a.Failure != "" {
			count++
		}
	}
	return count
}

// LastFailure returns when the last attempt began that failed, or false if none did.
func (o Outcomes) LastFailure() (time.Time, bool) {
	for _, a := range slices.Backward(o) {
		if a.Failure != "" {
			return a.Begun, true
		}
	}
	return time.Time{}, false
}

// First returns when the first answer of by came, or false if none came.
func (o Outcomes) First(by string) (time.Time, bool) {
	var first time.Time
	for _, a := range o {
		if a.Failure == "" && a.By == by && (first.IsZero() || a.Ended.Before(first)) {
			first = a.Ended
		}
	}
	return first, !first.IsZero()
}
