// Package publishertest runs the publisher over a provider whose server is a fake: [Fixture]
// publishes once and once again, a [Schedule] makes requests fail, and [Fixture.CheckCost] counts
// requests and measures how soon a change is sent.
//
// The tests of providers call it in a bubble of testing/synctest, so that an hour takes as long as
// its requests.
//
// # Concurrency
//
// A [Schedule] may be used from any goroutine, and so may Ask and Asked of a [Fixture]. All else is
// for one goroutine.
package publishertest
