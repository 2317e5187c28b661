// Package inmemory is a provider with zones in memory. On the command line it is for experiments,
// because its records are lost when the process ends. In tests it stands for a DNS server; package
// publisher calls it.
//
// It accepts changes only in an order in which a DNS server could make them one by one, and
// otherwise refuses the whole call (spec/dns.md §8.1). Changes of names that have changed since
// the listing fail, and the others are made. Put and Delete are external changes.
//
// # Concurrency
//
// All methods may be called from any goroutine. Results are copies, and listings always have the same
// order.
package inmemory
