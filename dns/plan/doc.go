// Package plan decides which changes make a zone have the record sets that are asked for. It
// compares both, follows the policy, and leaves alone what belongs to somebody else
// (spec/dns.md §3).
//
// [Name] decides about one name, from what the zone has under it and what is asked for. Other
// names have no influence. So the publisher calls it only for names where something has
// changed.
//
// The changes of a name are in the order in which they have to be made: deletions, updates,
// creations. A CNAME and the record sets that can't stand beside it (RFC 1034 3.6.2) never
// exist together, not even for a moment (spec/dns.md §17). What is impossible is not an error
// but a [Conflict].
//
// Several objects may ask for one record set, or for a CNAME and for what can't stand beside it. One
// rule decides who gets the name (holder.go): its holder keeps it. [Choose] gives the same decision to
// those who show it, and [Rank] the holder to those who merge record sets.
//
// Read it in this order: rules.go, outcome.go, holder.go, name.go, compare.go.
//
// # Concurrency
//
// Everything here is a function of its arguments and doesn't change them, so it may be called
// from any goroutine. Results share no memory that changes with the arguments, and don't
// depend on their order.
package plan
