// Package provider is the contract between the publisher and DNS servers or DNS APIs: the interface
// [Provider], its [Capabilities], its settings ([Plugin], [Config], [Input]), and the errors that
// tell the outcome of a change. Package publisher calls providers, and package configure opens
// them. Caching, and the rate of calls, are the publisher's task.
//
// Each kind of provider is a package below this one, listed in dns/plugins. The kit in
// testkit/providertest checks the contract.
//
// # Concurrency
//
// A provider must support parallel calls, for different zones and also for one: an ownership record
// may be in another zone than its record set. Flags and Open are called once, before anything else.
package provider
