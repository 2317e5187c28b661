// Package azure is the providers "azure" (also called "azure-dns"), for public zones of Azure
// DNS, and "azure-private-dns", for private zones (spec/clouds.md §4, §5). It uses the SDK of
// Azure.
//
// Azure changes one record set with a request, and has no transactions. The changes of a name,
// with those of its ownership records, are a unit: texts are made before records and deleted
// after them, and the unit ends at its first failure. What was made of it by then is undone. Each
// request has a condition: an ETag, or that nothing is there. So Azure itself compares Old. Up to
// 8 units of a public zone are made at a time, and one of a private zone.
//
// Adjust is made of the two directions of one mapping: what is wanted is translated to what is
// sent (wire.go), and this to what is listed (listed.go). The two kinds of zones have types of
// their own in the SDK; public.go and private.go translate them.
//
// All requests pass one gate (gate.go), which waits when Azure says so, and sends no token
// elsewhere. After a lost answer the record set is read before anything else is done.
//
// Read it in this order: config.go, settings.go, cloud.go, credentials.go, provider.go, zones.go,
// zone.go, account.go, public.go, private.go, gate.go, errors.go, wire.go, values.go, text.go,
// metadata.go, listed.go, apply.go, unit.go, step.go.
//
// # Concurrency
//
// The providers may be called from any goroutine.
package azure
