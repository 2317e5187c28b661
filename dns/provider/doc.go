// Package provider is the contract between the publisher and the DNS servers and DNS APIs
// that it writes to: what a [Provider] has to do, how its settings become flags and how one
// is opened ([Plugin], [Config], [Input]), and which errors say what became of a change.
//
// Each kind of provider is a package below this one, and a line in dns/plugins; the kit in
// dns/providertest checks that it does what is promised here. The publisher
// (dns/publisher) calls providers, dns/configure opens them.
//
// # Concurrency
//
// The publisher calls a provider from one goroutine for each zone, so a provider has to
// allow calls about different zones at the same time. Flags and Open are called once,
// before anything else.
package provider
