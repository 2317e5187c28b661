// Package desired keeps what all objects of a publisher ask for, and says what record sets
// a name is to have because of it.
//
// dns/publisher evaluates an object with its source and hands the outcome to [Set.Put],
// under the [Origin] that names source and object. Put makes of it what is to be
// published (default targets, checks, NAT64, the target filter, PTR record sets,
// properties; spec/dns.md §6.13), keeps that, and returns the names whose answer may have
// changed, none when the object asks for what it asked for before. For each of them
// dns/plan compares what [Set.Want] returns with what is there.
//
// Contributions to a name are kept apart, and put together only when they are asked for, so
// that an object costs what it changes. Everything is in a fixed order: neither the
// order of events nor that of a map shows in an answer. Of the objects of one
// source, the first by its label resource gives TTL and properties; sources come in the
// order of --source.
//
// # Concurrency
//
// A [Set] is owned by one goroutine, that of the publisher. What Want returns may be kept
// and read from anywhere, but not be changed: it shares its parts
// with the Set.
package desired
