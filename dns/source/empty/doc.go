// Package empty is the source "empty": it asks for no records. With the policy sync, all records of
// this owner are then deleted (spec/dns.md §6.10). dns/plugins lists it. It reads no objects.
//
// # Concurrency
//
// See package source.
package empty
