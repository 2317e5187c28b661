// Package dynamodb keeps the ownership of record sets in a table of Amazon DynamoDB, in the
// format of ExternalDNS (spec/dns.md §4.3), so that zones hold nothing but records.
//
// The table has an item for each record set that somebody owns: its key, the owner and the
// labels. [Table] reads those of one owner, and keeps them in memory. A record set is
// claimed in the table before the provider makes it, which two owners can't both do, and
// given up after the provider has deleted it. An item without a record set, which is left
// when the provider fails in between, does no harm and goes when its name is changed next.
//
// Package main of the command makes a [Table] of a client that [Open] returns; the publisher
// calls it as its owner. Before writes to the table: it must not be called in a dry run.
//
// # Concurrency
//
// All methods of Table may be called from any goroutine. Load, Before and After wait for
// one another; Labels and Mark never wait for the network.
package dynamodb
