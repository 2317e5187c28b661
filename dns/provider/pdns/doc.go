// Package pdns is the provider for the PowerDNS Authoritative Server, through its HTTP API, version
// 1 (spec/dns.md §8.7). Package publisher calls it.
//
// A zone is read with one request and changed with one: PowerDNS applies a PATCH in one
// transaction. Deletions come first, so that a name can change its type: PowerDNS 4.7 processes the
// record sets in order, and refuses a CNAME beside a record set that is deleted later on (tried
// with its lmdb and sqlite3 backends).
//
// A PATCH has no conditions. The zone is read right before it, and a change by another writer in
// the milliseconds between is overwritten. Therefore a PATCH isn't retried after a failure.
//
// PowerDNS has the type ALIAS for names that the server resolves. A CNAME with the property
// alias=true, or at the apex of a zone, is stored as an ALIAS, and an ALIAS is read as a CNAME with
// that property. Disabled records are ignored and stay. In a dry run, a transport refuses every
// request that could change something.
//
// # Concurrency
//
// The provider may be called from any goroutine.
package pdns
