// Package provider is the contract between the publisher and the DNS servers and DNS APIs that it
// writes to: what a [Provider] does, what it can do ([Capabilities]), how it is configured and
// opened ([Plugin], [Config], [Input]), and which errors say what happened to a change. Zones,
// their cache and the rate of calls are the publisher's business.
//
// Each kind of provider is a package below this one and a line in dns/plugins. The kit
// testkit/providertest checks that it keeps the contract. The publisher (dns/publisher) calls
// providers, and dns/configure opens them. Package batch has what the providers of cloud APIs
// share.
//
// # Concurrency
//
// A provider may be called about different zones at the same time, and also about one: an ownership
// record may be in another zone than its record set. Flags and Open are called once, before
// anything else.
package provider
