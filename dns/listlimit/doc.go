// Package listlimit limits how much is read from a DNS server or DNS API: the record sets and bytes
// of a zone and of all zones of a provider, and the number of zones. Exceeding a limit is an error,
// and so is a listing whose pages repeat or never end. Without limits, one hostile or broken server
// could use up the memory of the process and stop all of its roles.
//
// A provider starts a [Listing] for each zone, adds each entry while it decodes the response, and
// notes each page. Package configure creates one [Budget] per provider from the flags
// --max-zone-records, --max-records and --max-zones.
//
// # Concurrency
//
// Budgets and listings may be used from any goroutine. A [Stream] belongs to one goroutine.
package listlimit
