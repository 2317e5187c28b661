// Package azure is the provider "azure" (also called "azure-dns") for public zones of Azure DNS,
// and the provider "azure-private-dns" for private zones (spec/clouds.md §4, §5). It uses the SDK
// of Azure.
//
//   - A request changes one record set, and Azure has no transactions. The changes of a name, with
//     those of its ownership records, are made one after the other: ownership records are created
//     before their records, and deleted after them. After a failure the provider undoes the changes
//     of the name that it has made.
//   - Each request has a condition: an ETag, or that the record set doesn't exist. So Azure itself
//     compares Old.
//   - Up to 8 names of a public zone are changed at a time, and one of a private zone.
//   - All requests pass rateLimit (transport.go), which waits for pauses that Azure asks for. It
//     sends the token to no other server.
//   - After a lost response, the provider reads the record set before anything else.
//
// Adjust combines the two directions of one mapping: from the wanted record set to the request
// (wire.go), and from there to the listing (listed.go). The SDK has separate types for the two
// kinds of zones: public.go and private.go translate them.
//
// dns/plugins registers the providers.
//
// # Concurrency
//
// The providers may be called from any goroutine.
package azure
