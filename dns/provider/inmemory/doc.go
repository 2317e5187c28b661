// Package inmemory is a provider whose zones are in memory. On the command line it is for
// trying things out: nothing survives the process.
//
// In tests it stands for a DNS server. It is strict: it accepts changes only in an order in
// which a DNS server could make them one after the other, and otherwise
// refuses the whole call (spec/dns.md §8.1). Changes of names that have changed since they were
// listed fail, and the others go on. [Hooks] make calls fail before,
// after, or in the middle of their work. Put and Delete change a zone without the publisher's
// knowledge.
//
// Read it in this order: config.go, provider.go, batch.go, hooks.go.
//
// # Concurrency
//
// All methods may be called from any goroutine. Hooks are called without a lock, so they may
// block and may use the provider. Results are copies, and listings always have the same order.
package inmemory
