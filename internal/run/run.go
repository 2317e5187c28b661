// Package run runs the components of a process as a group: they start together, and the first one to end
// stops the others. Package process runs one [Group]. A role with several loops may run another
// group inside an actor.
//
// An [Actor] is a function that works until its context ends. [Group.Run] starts every actor in a goroutine
// of its own, and returns their joined errors when all have ended. Grace limits the time that an actor may
// take to end, to drain connections or release a lease. An actor that takes longer is named in the error,
// with the stacks of its goroutines ([Where]), and not waited for, so that the process always ends.
//
// # Concurrency
//
// A Group is filled and run by one goroutine: Add must not be called while Run runs, and Run is called once.
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
	// Run works until its context ends, then cleans up and returns nil or the error of the context.
	Run func(ctx context.Context) error
	// Grace is how long Run may take to return after its context has ended; zero means no limit.
	Grace time.Duration
}

// Group is a set of actors that live and end together. The zero Group is empty and ready to use.
type Group struct {
	actors []Actor
}

// Add adds an actor to the group.
func (g *Group) Add(a Actor) { g.actors = append(g.actors, a) }

// Run runs all actors until ctx ends or the first of them returns, with or without an error. It then stops
// the others and waits for them. It returns the errors of all actors, each with the name of its actor; the
// end of their context is no error. A group without actors returns at once.
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
			Named(ctx, a.Name, func(ctx context.Context) { err = a.outcome(ctx) })
		}()
	}
	if len(g.actors) > 0 {
		<-ctx.Done()
	}
	return g.collect(finished)
}

// collect waits for every actor, no longer than its grace, which starts now for all of them.
func (g *Group) collect(finished []chan error) error {
	stopped := time.Now()
	var errs []error
	for i, a := range g.actors {
		errs = append(errs, a.wait(finished[i], stopped))
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

func (a Actor) wait(finished <-chan error, stopped time.Time) error {
	if a.Grace == 0 {
		return <-finished
	}
	limit := time.NewTimer(a.Grace - time.Since(stopped))
	defer limit.Stop()
	select {
	case err := <-finished:
		return err
	case <-limit.C:
	}
	// Both may be ready, because waiting for an earlier actor used up the time.
	select {
	case err := <-finished:
		return err
	default:
		return fmt.Errorf("%s: stop: still busy after %v, not waited for any longer: give it a longer grace period, or find out what it waits for:%s", a.Name, a.Grace, Where(a.Name))
	}
}
