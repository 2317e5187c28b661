// Package inmemory is a provider whose zones are in memory. On the command line it is for
// trying things out: nothing outlives the process.
//
// In tests it takes the place of a DNS server. It is strict: it takes changes only in an
// order in which a DNS server could make them one after the other, with Old as it
// listed it, and refuses the whole call otherwise (spec/dns.md §8.1). [Hooks] make calls
// fail before or after, or in the midst of what they do, and Put and Delete change a
// zone behind the publisher's back.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock held, so
// they may block and may use the provider. What is handed out is a copy; listings
// are in the same order each time.
package inmemory
