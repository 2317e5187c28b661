// Package dnsinspect shows the role dns to the inspection API: its records and zones, what has
// changed of them, and why a name isn't there.
//
// Package process makes a [Role] of the publishers of a process, and offers it to package inspect.
// It asks the publishers (dns/publisher), which answer between two steps of their work, and for an
// explanation also the servers of the zone (dns/authority). Nothing is kept while nobody looks.
//
// Read it in this order: role.go, records.go, changes.go, explain.go, object.go, zone.go,
// servers.go.
//
// # Concurrency
//
// The methods of a [Role] may be called from any goroutine.
package dnsinspect
