// Package hostiletest serves the APIs of DNS services like a hostile or broken server: responses that are
// small on the wire and large in memory, endless entries and pages, pages that repeat. Each [Attack] is one
// of them, on the requests with which a provider lists its zones and the record sets of one zone. The tests
// of the providers use it with low limits, and dev/bench with the default ones.
//
// # Concurrency
//
// A [Server] may serve any number of requests at a time.
package hostiletest
