// Package reconcile has what the controllers share: the loop that syncs Services one by one, and the overlay
// of writes that haven't been read back yet. Each controller below package controllers has a loop and passes
// it changes; package controllers runs the terms.
//
// A [Loop] has a queue of the names of Services and a few workers. It works in terms of leadership: while
// this process leads, [Loop.Run] runs, starting with all Services; between terms, changes cost nothing.
// Failures that may affect several Services open a circuit breaker, for a namespace or for all (breaker).
// Changes by other writers are repaired after growing delays ([Loop.Repair]).
//
// An [Overlay] answers reads of a table with this process's own writes on top, so that a sync never decides
// on a state older than its own writes (spec/endpoints.md §19.4).
//
// # Concurrency
//
// All methods may be called from any goroutine, but a Loop has one term at a time, and one worker at most
// syncs a Service at a time.
package reconcile
