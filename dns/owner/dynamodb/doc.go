// Package dynamodb keeps claims of record sets in a table of Amazon DynamoDB, in the format of
// ExternalDNS (spec/dns.md §4.3). Then the zones have no ownership records. [New] returns the
// owner; the claims themselves are those of package claims.
//
// The table has an item for each record set that somebody owns: its key, the owner and the
// labels. Only one of two owners can have an item. An item of a claim that isn't confirmed has
// one more label, [LabelIntended]. ExternalDNS takes it for a label like others, and leaves it
// out when it writes the labels itself; then the item counts as confirmed here, too.
//
// Package configure makes the owner from a client that [Open] returns, and the publisher calls
// it. It writes to the table, so it isn't called in a dry run.
//
// Read it in this order: open.go, table.go, item.go, statement.go.
//
// # Concurrency
//
// The owner calls the table from one goroutine at a time.
package dynamodb
