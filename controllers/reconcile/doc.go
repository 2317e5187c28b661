// Package reconcile has the parts that the controllers share: the loop that syncs Services one by one, and
// the overlay of writes that the watch has not delivered yet. Each controller below package controllers has a
// loop and passes changes to it; package controllers runs the terms.
//
// A [Loop] has a queue of the names of Services and a few workers. It works in terms of leadership: while
// this process leads, [Loop.Run] runs, starting with all Services; between terms, changes cost nothing.
// Failures that may affect several Services open a circuit breaker, for a namespace or for all (breaker).
// Changes by other writers are reverted after growing delays ([Loop.Repair]).
//
// An [Overlay] answers reads of a table with this process's own writes on top, so that a sync never decides
// on a state older than its own writes (spec/endpoints.md §19.4).
//
// # Concurrency
//
// All methods may be called from any goroutine, but a Loop has one term at a time, and at most one worker
// syncs a given Service.
package reconcile
