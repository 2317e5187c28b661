// Package aws is the provider for Amazon Route 53 (spec/dns.md §8.2, spec/clouds.md §1). It uses
// the SDK of AWS, with the credentials of dns/awsaccess.
//
//   - A batch of changes is one request, which Route 53 makes as a whole or not at all (dns/provider/batch).
//   - A change is a DELETE of exactly what was listed, a CREATE, or both. So Route 53 itself
//     compares Old, and a changed name always resolves. An UPSERT would overwrite external changes.
//   - If the listed form of a record set lacks something that the DELETE needs, the provider keeps
//     what Route 53 listed.
//   - All requests of an account pass one limiter (awsaccess.Pace), changes first.
//   - In a dry run, a transport refuses every request that could change something.
//
// Adjust combines the two directions of one mapping: from the wanted record set to the request
// (wire.go), and from there to the listing (listed.go).
//
// dns/plugins registers the provider.
//
// # Concurrency
//
// The provider may be called from any goroutine.
package aws
