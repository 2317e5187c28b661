// Package cloudflare is the provider for Cloudflare DNS (spec/dns.md §8.5, spec/clouds.md §6). It
// uses the SDK of Cloudflare for requests and credentials, and types of its own for records: the SDK
// takes MX and SRV records for those of addresses.
//
// A record of Cloudflare is one value. Records of one name and type are a record set; one whose
// values differ in their TTL or in other attributes is never as it should be (listed.go). A batch of
// changes is one request, which Cloudflare makes as a whole or not at all. Cloudflare can't compare
// what is there as it writes, so the names are read right before (look.go). Records are changed
// by their IDs, so a name that changes is never gone, and what somebody else adds in that moment is
// neither written over nor taken for ours (claims.go). A batch that is refused is halved until the name at fault is alone.
//
// Custom hostnames and regions belong to names, and are changed with requests of their own: they
// are taken away before the batch, and made after it (sides.go).
//
// All requests pass one limiter (pace.go). A listing that doesn't show yet what has just been
// written is corrected (recent.go). In a dry run, the HTTP client refuses what could change
// something.
//
// Read it in this order: config.go, credentials.go, provider.go, zones.go, plans.go, api.go, requests.go,
// errors.go, pace.go, record.go, values.go, listed.go, adjust.go, apply.go, send.go, unit.go, look.go, sides.go, recent.go, claims.go.
//
// # Concurrency
//
// The provider may be called from any goroutine.
package cloudflare
