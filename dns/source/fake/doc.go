// Package fake is the source "fake": random records for trying out a provider (spec/dns.md §6.10).
// dns/plugins lists it. It reads no objects.
//
// At each verification of records, it returns new ones: one record set of each type for each base
// name. The base names are those that --fqdn-template writes for a Pod "fake" in the namespace
// "default", or example.com. Names are random, but the same in each run of the process.
package fake
