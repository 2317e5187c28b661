// Package dynamodb keeps claims of record sets in an Amazon DynamoDB table, in the format of
// ExternalDNS (spec/dns.md §4.3), so the zones need no ownership records. Package configure calls
// [New] with a client from [Open]; the result is an Owner of package claims. It writes to the
// table, so it isn't called in a dry run.
//
// The table has an item for each owned record set: its key, the owner and the labels. Only one of
// two owners can have an item. An item of a claim that isn't confirmed has the additional label
// [dns.LabelIntended]. ExternalDNS treats it like any label, and drops it when it writes the labels
// itself; the item then counts as confirmed here too.
//
// # Concurrency
//
// The owner calls the table from one goroutine at a time.
package dynamodb
