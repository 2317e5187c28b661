// Package cloudflare is the provider for Cloudflare DNS (spec/dns.md §8.5, spec/clouds.md §6). It
// uses the SDK of Cloudflare for requests and credentials, and its own types for records, because
// the SDK reads MX and SRV records as addresses.
//
//   - A record of Cloudflare has one value. The records of one name and type are a record set. If
//     they differ in TTL or other attributes, the set counts as an external change (listed.go).
//   - A batch of changes is one request, which Cloudflare makes as a whole or not at all
//     (dns/provider/batch). A refused batch is halved until the name at fault is alone.
//   - Cloudflare can't compare Old as it writes, so the provider reads the names right before
//     (reread.go). It changes records by ID: a changed name always resolves, and a record that
//     another writer adds meanwhile is neither overwritten nor taken for ours (creations.go).
//   - Custom hostnames and regions have requests of their own. They are removed before the batch,
//     and created after it (namesettings.go).
//   - All requests pass one limiter (pace.go). A listing older than the last writes is corrected (recent.go).
//   - In a dry run, the HTTP client refuses every request that could change something.
//
// dns/plugins registers the provider.
//
// # Concurrency
//
// The provider may be called from any goroutine.
package cloudflare
