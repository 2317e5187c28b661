// Package run runs the components of a process as one group: they start
// together, and the first one to end stops the others.
//
// An [Actor] is a function that works until its context ends. [Group.Run] starts
// every actor in a goroutine of its own and returns when all of them are done,
// with the errors of all of them joined. An actor that has to put its affairs in
// order (drain connections, release a lease) may be given a limited time for it,
// its Grace; one that exceeds it is named in the error and left behind, so that a
// process always ends.
//
// Package main of the command calls it, once for the process; a role with several
// loops of its own may nest another group inside an actor.
//
// # Concurrency
//
// A Group is filled and run by one goroutine: Add is not safe to call while Run
// runs, and Run is called once.
package run

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Actor is one component of a [Group].
type Actor struct {
	// Name names the component in errors.
	Name string
	// Run works until its context ends, then tidies up and returns. It returns nil or
	// an error that is the context's own when it was merely told to stop.
	Run func(ctx context.Context) error
	// Grace is how long Run may take to return once it was told to stop; zero
	// means as long as it likes.
	Grace time.Duration
}

// Group is a set of actors that live and end together. The zero Group is empty
// and ready to use.
type Group struct {
	actors []Actor
}

// Add adds an actor to the group.
func (g *Group) Add(a Actor) { g.actors = append(g.actors, a) }

// Run runs all actors until ctx ends or the first of them returns, whether with an
// error or without, and then waits for the rest. It returns the errors of all
// actors, each under its actor's name; being told to stop is not an error. A group
// without actors returns at once.
func (g *Group) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	finished := make([]chan error, len(g.actors))
	for i, a := range g.actors {
		finished[i] = make(chan error, 1)
		go func() {
			// Deferred, so that a runtime.Goexit inside an actor stops the group too.
			var err error
			defer func() {
				stop()
				finished[i] <- err
			}()
			err = a.outcome(ctx)
		}()
	}
	if len(g.actors) > 0 {
		<-ctx.Done()
	}
	return g.collect(finished)
}

// collect waits for every actor, each no longer than its grace, which for all of
// them starts now.
func (g *Group) collect(finished []chan error) error {
	told := time.Now()
	var errs []error
	for i, a := range g.actors {
		errs = append(errs, a.wait(finished[i], told))
	}
	return errors.Join(errs...)
}

func (a Actor) outcome(ctx context.Context) error {
	err := a.Run(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return fmt.Errorf("%s: %w", a.Name, err)
}

func (a Actor) wait(finished <-chan error, told time.Time) error {
	if a.Grace == 0 {
		return <-finished
	}
	limit := time.NewTimer(a.Grace - time.Since(told))
	defer limit.Stop()
	select {
	case err := <-finished:
		return err
	case <-limit.C:
	}
	// Both may be ready: waiting for an earlier actor used up the time.
	select {
	case err := <-finished:
		return err
	default:
		return fmt.Errorf("%s: stop: still busy after %v, left behind: give it a longer grace period or look at its goroutines", a.Name, a.Grace)
	}
}
