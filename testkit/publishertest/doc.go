// Package publishertest measures how many requests a provider sends, and how soon, when the
// publisher uses it. Tests of providers call it in a bubble of testing/synctest, with a server
// of their own behind the provider, so that an hour takes as long as its requests.
//
// # Concurrency
//
// A [Counter] may be used from any goroutine. [Measure] is for one goroutine.
package publishertest
