// Package endpoints writes the core/v1 Endpoints of Services that select pods.
//
// A [Controller] syncs Services: package controllers tells it about changes and runs it
// while this process leads. Its methods may be called from any goroutine, Run by one.
//
// [Plan] decides what becomes of the Endpoints of one Service. It is called once
// for each Service whose own definition, pods or Endpoints have changed, and its answer is
// the one request to make, if any.
//
// # Concurrency
//
// Plan is pure: it asks for nothing, keeps nothing, and changes nothing of what it is given. Of
// that, what it returns has the names of nodes only. It may be called from any goroutine.
package endpoints
