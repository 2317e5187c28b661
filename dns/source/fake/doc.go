// Package fake is the source "fake": made-up records for trying out a provider
// (spec/dns.md §6.10).
//
// Each time that records are verified it makes new ones: for each base name one record
// set of each type that there is. The base names are those that the FQDN template gives
// for a Pod "fake" in the namespace "default", or example.com. Names are random, but the
// same in each run of the process.
//
// dns/plugins registers it. It reads no objects.
//
// # Concurrency
//
// As package source says.
package fake
