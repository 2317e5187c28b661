// Package plan decides which changes bring a zone in line with the wanted record sets, by the
// policy and by ownership (spec/dns.md §3). Package publisher calls it.
//
// [Name] decides about one name, from the zone's record sets and the wanted ones. Other names have
// no influence, so it is called only for names that have changed.
//
// The changes of a name are in the order in which they have to be made: deletions, updates,
// creations. A CNAME and the record sets that can't stand beside it (RFC 1034 3.6.2) never exist
// together (spec/dns.md §17). A wanted record set that is impossible is not an error but a
// [Conflict].
//
// If several objects ask for one record set, or for a CNAME and for another type, the holder keeps
// the name (holder.go). [Choose] returns the same decision for inspections, and [Rank] the holder
// for merging record sets.
//
// # Concurrency
//
// All functions are pure and may be called from any goroutine. Results don't depend on the order of
// the arguments and share no mutable memory with them.
package plan
