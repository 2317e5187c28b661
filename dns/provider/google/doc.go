// Package google is the provider for Google Cloud DNS (spec/clouds.md §3). It uses Google's
// generated client for Cloud DNS and Google's library for credentials.
//
//   - A batch of changes is one request, which Cloud DNS makes as a whole or not at all (dns/provider/batch).
//   - A change deletes exactly what was listed, adds a record set, or does both. So Cloud DNS
//     itself compares Old, and a changed name always resolves.
//   - If the listed form of a record set lacks something that the deletion needs, the provider
//     keeps what was listed.
//   - After a response "too many requests", the provider sends nothing for a while (httpapi.Throttle).
//   - Record sets with a routing policy are listed, and never changed.
//
// Adjust combines the two directions of one mapping: from the wanted record set to the request
// (wire.go), and from there to the listing (listed.go).
//
// dns/plugins registers the provider.
//
// # Concurrency
//
// The provider may be called from any goroutine.
package google
