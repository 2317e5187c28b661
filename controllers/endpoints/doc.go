// Package endpoints writes the core/v1 Endpoints of Services that select pods.
//
// A [Controller] syncs Services: package controllers tells it about changes and runs it
// while this process leads. Its methods may be called from any goroutine, Run by one.
//
// [Plan] decides what becomes of the Endpoints of one Service. It is called once
// for each Service whose own definition, pods or Endpoints have changed, with
// objects that may be cut down to the fields it reads, and its answer is the one
// request to make, if any.
//
// # Concurrency
//
// Plan is pure: it asks for nothing, keeps nothing, and neither changes nor
// hands out parts of what it is given. It may be called from any goroutine.
package endpoints
