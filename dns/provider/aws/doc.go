// Package aws is the provider for Amazon Route 53 (spec/dns.md §8.2, spec/clouds.md §1). It uses
// the SDK of AWS; dns/awsaccess says with which credentials.
//
// A batch of changes is one request, which Route 53 makes as a whole or not at all. A change is
// a DELETE of exactly what was listed, a CREATE, or both; never an UPSERT, which would write
// over what somebody else has made since. So Route 53 itself compares Old, and a name that
// changes is never gone for a moment. Where the listed form of a record set leaves out
// something that the DELETE needs, the provider keeps what Route 53 has listed.
//
// What is refused of a batch is named in the answer; the rest is sent again without it. All
// requests of an account pass one limiter (awsaccess.Pace), changes first. A listing that still
// shows what a change has just replaced is corrected (recent.go). In a dry run, a transport
// refuses every request that could change something.
//
// Adjust is made of the two directions of one mapping: what is wanted is translated to what is
// sent (wire.go), and this to what is listed (listed.go).
//
// Read it in this order: config.go, provider.go, zones.go, account.go, errors.go, wire.go,
// listed.go, routing.go, alias.go, services.go, names.go, text.go, apply.go, unit.go, blame.go,
// recent.go, insync.go.
//
// # Concurrency
//
// The provider may be called from any goroutine.
package aws
