// Package owner says who may touch a record set: an [Owner] is what ExternalDNS calls a
// registry (spec/dns.md §4). [None] owns nothing and so everything; [TXT] keeps ownership
// in TXT records beside the records; [CloudMap] keeps it in the records' own descriptions;
// further kinds are in packages of their own below.
//
// The publisher asks an owner for the labels of the records in its copy of a zone, and
// hands it the changes before and after they are applied. Whatever an owner decides it takes
// from the zone as it is at that time, not from what was planned before.
//
// # Concurrency
//
// Load, Before and After are called at the same time for different zones; Labels and Mark
// from any goroutine.
package owner
