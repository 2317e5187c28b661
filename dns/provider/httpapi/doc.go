// Package httpapi is the common part of HTTP providers: errors and dry runs as the contract of
// package provider requires.
//
// A provider creates its client with [NewClient] when it is opened.
//
//   - With a vendor's SDK, it passes the client to the SDK, and converts the status of a failure
//     with [Outcome].
//   - Without one, it checks the URL with [ParseURL], sends each request with [Do], inside of
//     [Retry].Do if retries are allowed, and converts a failed status to a [StatusError].
//
// # Concurrency
//
// Everything may be used from any goroutine.
package httpapi
