// Package owner says who may change a record set. An [Owner] is what ExternalDNS calls a
// registry (spec/dns.md §4). [None] keeps no ownership, so that everything may be changed.
// [TXT] keeps ownership in TXT records beside the records, and [Descriptions] in the descriptions
// of the services of AWS Cloud Map. Owners outside of the zones are in
// package claims and its stores, below this one.
//
// The publisher asks an owner for the labels of the records in its copy of a zone, and hands
// it the changes before and after they are applied. An owner decides from what the zone has at
// that time, not from what was planned before.
//
// Read it in this order: owner.go and none.go; then txt.go, before.go, names.go, text.go and
// seal.go for [TXT]; descriptions.go.
//
// # Concurrency
//
// Load, Before and After are called at the same time for different zones; Labels and Mark from
// any goroutine.
package owner
