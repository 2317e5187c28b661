// Package desired keeps what all objects of a publisher ask for, and says which record sets a
// name should have because of that.
//
// dns/publisher evaluates an object with its source and hands the result to [Set.Put], under
// the [Origin] that names the source and the object. Put works out what is to be published
// (default targets, checks, NAT64, the target filter, PTR record sets, properties; spec/dns.md
// §6.13), and returns the names whose record sets may have changed. dns/plan compares what
// [Set.Want] returns for these names with the zone.
//
// What each origin asks for under a name is kept separately and merged only in Want. So a
// change of an object costs only what it changes. The order of all results is fixed: it
// depends neither on the order of events nor on that of a map. Among the objects of a source,
// the one whose label resource comes first determines TTL and properties; sources are in the
// order of --source.
//
// A record set that can't be published isn't wanted, but neither is the name free: an edit with
// a bad target must not delete the good record. [Set.Unresolved] tells the publisher.
//
// Read it in this order: set.go, want.go, transform.go, unresolved.go, ptr.go, options.go,
// record.go, stats.go, explain.go.
//
// # Concurrency
//
// A [Set] belongs to one goroutine, that of the publisher. What Want returns may be kept and
// read by any goroutine. It must not be changed, because it shares memory with the Set.
package desired
