// Package empty is the source "empty": it asks for no records at all. With the policy sync,
// all records of this owner are then removed (spec/dns.md §6.10).
//
// dns/plugins registers it. It reads no objects.
//
// # Concurrency
//
// See package source.
package empty
