// Package google is the provider for Google Cloud DNS (spec/clouds.md §3). It uses the SDK of
// Google: its generated client for Cloud DNS, and its library for credentials.
//
// A batch of changes is one request, which Cloud DNS makes as a whole or not at all. A change
// deletes exactly what was listed, adds a record set, or does both. So Cloud DNS itself compares
// Old, and a name that changes is never gone for a moment. Where the listed form of a record set
// leaves out something that the deletion needs, the provider keeps what Cloud DNS has listed.
//
// What is refused of a batch is named in the answer; the rest is sent again without it. After
// an answer that there are too many requests, nothing is sent for a while (hold.go). A listing
// that still shows what a change has just replaced is corrected (recent.go). Record sets with
// a routing policy are listed, and never changed.
//
// Adjust is made of the two directions of one mapping: what is wanted is translated to what is
// sent (wire.go), and this to what is listed (listed.go).
//
// Read it in this order: config.go, provider.go, zones.go, client.go, access.go, project.go,
// hold.go, errors.go, wire.go, listed.go, text.go, apply.go, unit.go, blame.go, recent.go.
//
// # Concurrency
//
// The provider may be called from any goroutine.
package google
