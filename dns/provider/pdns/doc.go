// Package pdns is the provider for the PowerDNS Authoritative Server, which it speaks to
// over its HTTP API, version 1 (spec/dns.md §8.7).
//
// A zone is read with one request and changed with one: PowerDNS makes all changes of a
// PATCH in one transaction, so that either all are made or none. In it deletions come
// first, which is what lets a name change its type: PowerDNS 4.7 takes the record sets
// in their order and refuses a CNAME beside something that goes away later on (tried with its
// lmdb and sqlite3 backends). A PATCH says what is to be there in the end, so that sending one
// again after a failure is safe.
//
// PowerDNS has a type of its own, ALIAS, for what is to be resolved by the server. A CNAME
// with the property alias=true, or at the apex of a zone, is stored as one; an ALIAS that is
// read is a CNAME with that property. Records that are disabled are not seen.
//
// dns/plugins lists the [Plugin]; the publisher calls the provider. In a dry run a transport
// refuses every request that could change something.
//
// # Concurrency
//
// The provider may be called from any goroutine.
package pdns
