// Package authority queries the authoritative name servers of a zone and compares their responses
// with the records that should be published (RFC 1034, RFC 1035, RFC 2308). Package dnsinspect
// calls it when a user asks why a record is missing.
//
// Queries go to authoritative servers, because a resolver may return cached records. The servers
// are those that the caller names, such as the ones that a provider writes to, or those of the NS
// records that the system's resolver finds. The number of queries and the time are limited. Only
// those records of a response that belong to the query are used.
//
// # Concurrency
//
// A [Client] may be used by several goroutines.
package authority
