// Package dynamodb keeps the ownership of record sets in a table of Amazon DynamoDB, in the
// format of ExternalDNS (spec/dns.md §4.3). Then the zones have no ownership records.
//
// The table has an item for each record set that somebody owns: its key, the owner and the
// labels. [Table] reads the items of one owner and keeps them in memory. A record set is
// claimed in the table before the provider creates it; only one of two owners can do that. It
// is given up after the provider has deleted it. If the provider fails in between, an item
// without a record set is left. It does no harm, and is deleted at the next change of its
// name.
//
// Package main makes a [Table] from a client that [Open] returns, and the publisher calls it.
// Before writes to the table, so it must not be called in a dry run.
//
// Read it in this order: open.go, table.go, item.go, before.go, statement.go.
//
// # Concurrency
//
// All methods of Table may be called from any goroutine. Load, Before and After wait for one
// another; Labels and Mark never wait for the network.
package dynamodb
