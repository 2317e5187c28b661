// Package owner decides which process may change a record set. An [Owner] is what ExternalDNS calls
// a registry (spec/dns.md §4):
//
//   - [None] keeps no ownership, so everything may be changed.
//   - [TXT] keeps ownership in TXT records beside the records.
//   - [Descriptions] keeps it in the descriptions of AWS Cloud Map services.
//   - Package claims and its stores keep it outside of the zones.
//
// Package publisher asks an owner for the labels of the records in its mirror of a zone, and calls
// it with changes before and after they are applied. An owner decides by the current content of the
// zone, not by earlier plans.
//
// # Concurrency
//
// Load, Before and After are called in parallel for different zones; Labels and OwnershipRecord from any
// goroutine.
package owner
