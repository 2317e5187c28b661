// Package provider is the contract between the publisher and the DNS servers and DNS APIs
// that it writes to: what a [Provider] has to do, what it can do ([Capabilities]), how its
// settings become flags and how one is opened ([Plugin], [Config], [Input]), and which errors
// say what became of a change. Zones, their cache, and how often a provider is called are the
// publisher's business.
//
// Each kind of provider is a package below this one, and a line in dns/plugins; the kit in
// testkit/providertest checks that it does what is promised here. The publisher
// (dns/publisher) calls providers, dns/configure opens them.
//
// Read it in this order: provider.go, errors.go, stale.go, tls.go.
//
// # Concurrency
//
// A provider has to allow calls about different zones at the same time, and also about one:
// an ownership record may be in another zone than its record set. Flags and Open are called
// once, before anything else.
package provider
