// Package reconcile is what the controllers have in common: the loop that syncs Services
// one by one, and the overlay of what was written but not read back yet.
//
// A [Loop] has a queue of the names of Services and a few workers. It works for terms: while
// this process leads, [Loop.Run] runs, beginning with all Services; between terms, changes
// cost nothing. Each controller below package controllers has a loop and tells it what
// changed; package controllers runs the terms.
//
// An [Overlay] answers reads of a table with this process's own writes on top, so that a
// sync never decides on a state that is older than what the process did itself
// (spec/endpoints.md §19.4).
//
// In reading order: loop.go syncs Services, and errors.go tells their failures apart;
// overlay.go remembers writes, told.go the Events that were sent; metrics.go counts.
//
// All methods may be called from any goroutine, but a Loop has one term at a time, and at
// most one worker syncs a Service at a time.
package reconcile
