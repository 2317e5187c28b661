// Package empty is the source "empty": it asks for no records at all. With the policy
// sync everything that this owner has is then removed (spec/dns.md §6.10).
//
// dns/plugins registers it. It reads no objects.
//
// # Concurrency
//
// As package source says.
package empty
