// Package endpoints writes the core/v1 Endpoints of Services that select pods.
//
// Package controllers makes a [Controller], calls it for changes and runs it while this process leads. [Plan]
// decides about the Endpoints of one Service: it returns the one request to make, if any.
//
// # Concurrency
//
// The methods of a Controller may be called from any goroutine; Run has one call at a time. Plan is a pure
// function and may be called from any goroutine. Its result shares only the names of nodes with its
// arguments.
package endpoints
