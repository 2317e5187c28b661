// Package properties declares the properties of the providers that ExternalDNS has: one file
// for each provider, with the annotations that become its properties (spec/dns.md §1.6, §6.1).
//
// A provider takes its declaration from here for its plugin. The declarations of providers that
// this binary doesn't have are needed, too: sources read their annotations, and other programs,
// which are reached through a webhook or the connector, use their names. A provider that
// ExternalDNS doesn't have declares its properties in its own package.
//
// dns/plugins puts all declarations together, for dns/configure.
//
// # Concurrency
//
// Each call returns a new value, which belongs to the caller.
package properties
