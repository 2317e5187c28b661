// Package publishertest measures how many requests a provider sends, and how soon, when the publisher uses
// it. Tests of providers call it in a testing/synctest bubble, with a server of their own behind the
// provider, so that an hour takes only the time of its requests.
//
// # Concurrency
//
// A [Counter] may be used from any goroutine. [Measure] is for one goroutine.
package publishertest
