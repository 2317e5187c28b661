// Package fake is the source "fake": invented records for trying out a provider (spec/dns.md
// §6.10).
//
// Each time that records are verified, it returns new ones: one record set of each type for
// each base name. The base names are those that --fqdn-template writes for a Pod "fake" in the
// namespace "default", or example.com. Names are random, but the same in each run of the
// process.
//
// dns/plugins registers it. It reads no objects.
//
// # Concurrency
//
// See package source.
package fake
