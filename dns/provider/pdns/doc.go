// Package pdns is the provider for the PowerDNS Authoritative Server. It uses the server's
// HTTP API, version 1 (spec/dns.md §8.7).
//
// A zone is read with one request and changed with one: PowerDNS makes the changes of a PATCH
// in one transaction. Deletions come first in it, so that a name can change its type: PowerDNS
// 4.7 processes the record sets in their order, and refuses a CNAME beside a record set that
// is deleted later on (tried with its lmdb and sqlite3 backends). A PATCH has no
// conditions: the zone is read right before it, and what somebody else does in the
// milliseconds between the two is written over. So it is sent once, and not again after a
// failure.
//
// PowerDNS has a type of its own, ALIAS, for names that the server resolves. A CNAME with the
// property alias=true, or at the apex of a zone, is stored as an ALIAS; an ALIAS is read as a
// CNAME with that property. Disabled records are ignored, and stay as they are. In a dry run, a transport refuses
// every request that could change something.
//
// Read it in this order: config.go, provider.go, zones.go, api.go, content.go, text.go.
//
// # Concurrency
//
// The provider may be called from any goroutine.
package pdns
