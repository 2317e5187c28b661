// Package dnsinspect serves the role dns in the inspection API: records, zones, their changes, and
// explanations of missing names. Package process creates a [Role] from the publishers and passes it
// to package inspect.
//
// A Role queries the publishers (dns/publisher), which respond between two steps of their loop, and
// for explanations also the servers of the zone (dns/authority). It keeps no state without clients.
//
// # Concurrency
//
// The methods of a [Role] may be called from any goroutine.
package dnsinspect
