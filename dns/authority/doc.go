// Package authority asks the name servers of a zone what they answer under a name, and compares
// that with what should be published (RFC 1034, RFC 1035, RFC 2308).
//
// It asks servers that have the zone, and not a resolver, which may remember something else for a
// while. The servers are those that the caller names, such as the ones that a provider writes to,
// or those of the NS records that the resolver of the system finds. A [Asker] sends a bounded
// number of questions, waits for a bounded time, and takes nothing of an answer but the records
// that it asked for. Package dnsinspect calls it for people who ask why a record isn't there.
//
// Read ask.go, and then compare.go.
//
// # Concurrency
//
// An [Asker] may be used by several goroutines.
package authority
