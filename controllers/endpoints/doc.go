// Package endpoints writes the core/v1 Endpoints of Services that select pods.
//
// A [Controller] syncs Services: package controllers tells it about changes and runs it
// while this process leads. [Plan] decides what becomes of the Endpoints of one Service: it
// returns the one request to make, if any.
//
// In reading order: plan.go decides whether to create or update, and compares; pod.go says
// whether a pod counts, and which ports it has; family.go which of its IPs; groups.go makes
// subsets of that; names.go has the labels and annotations that are written. controller.go
// carries plans out, and history.go finds the time of the change that led to one.
//
// # Concurrency
//
// The methods of a Controller may be called from any goroutine; Run has one call at a time.
// Plan is a pure function and may be called from any goroutine. Of what it is given, its
// result shares the names of nodes only.
package endpoints
