// Package listlimit limits what is read of a DNS server or a DNS API: record sets and bytes of a
// zone, of all zones of a provider together, and the number of zones. A server that sends more, or
// a listing whose pages repeat or do not end, is an error. Without limits, one hostile or broken
// server could use up the memory of the process, and stop all roles in it.
//
// A provider begins a [Listing] for each zone that it reads, adds each entry while it decodes the
// answer, and notes each page. dns/configure makes one [Budget] for each provider from the flags
// --max-zone-records, --max-records and --max-zones.
//
// Read it in this order: limits.go, budget.go, listing.go, size.go, stream.go.
//
// # Concurrency
//
// Budgets and listings may be used from any goroutine. A [Stream] belongs to one goroutine.
package listlimit
