// Package properties declares the properties of ExternalDNS' providers, with the annotations that
// become them (spec/dns.md §1.6, §6.1). Providers use it for their plugins, and dns/plugins
// collects all declarations for dns/configure.
//
// Declarations of providers that this binary lacks are needed too: sources read their annotations,
// and programs behind a webhook or the connector use their names. A provider that ExternalDNS lacks
// declares its properties in its own package.
//
// # Concurrency
//
// Each call returns a new value, which belongs to the caller.
package properties
