// Package httpapi is what providers share that send their requests over HTTP: what
// dns/provider promises about errors and dry runs, for any API of that kind.
//
// A provider makes its client with [NewClient] when it is opened. One with the SDK of a vendor
// gives the client to that, and turns the status of a failure into an error with [Outcome]. One
// that knows the API itself has its URL checked by [ParseURL]. It sends each request with [Do], inside of [Retry].Do where it may be sent
// again, and turns a status that is not that of success into a [StatusError]. What requests
// and answers look like, and which ones may be sent again, is for the provider to know.
//
// Read it in this order: client.go, transport.go, exchange.go, status.go, retry.go.
//
// # Concurrency
//
// Everything here may be used from any goroutine.
package httpapi
