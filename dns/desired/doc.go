// Package desired stores the record sets that all objects of a publisher ask for, and returns the
// merged record sets of a name.
//
// Package publisher evaluates an object with its source and calls [Set.Put] with the result, under
// the [Origin] of the object. Put applies default targets, checks, NAT64, the target filter, PTR
// record sets and properties (spec/dns.md §6.13), and returns the names whose record sets may have
// changed. Package plan compares the result of [Set.Want] for these names with the zone.
//
// The record sets of each origin are stored separately and merged only in Want, so the cost of a
// change depends on the change only. All results have a fixed order, which depends neither on the
// order of events nor on map iteration. Among the objects of a source, the one whose label resource
// sorts first determines TTL and properties. Sources are ordered as in --source.
//
// If a record set can't be published, its name is not free: an edit with a bad target must not
// delete the good record. [Set.Unresolved] tells the publisher.
//
// # Concurrency
//
// A [Set] belongs to one goroutine, that of the publisher. Results of Want may be kept and read by
// any goroutine, but not changed, because they share memory with the Set.
package desired
