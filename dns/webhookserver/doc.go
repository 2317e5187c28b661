// Package webhookserver serves a provider of records to other programs: it is the server of
// the webhook protocol of ExternalDNS, version 1 (spec/dns.md §8.9).
//
//	GET  /                 the names that the provider can have, and any other path
//	GET  /records          all record sets of all zones
//	POST /adjustendpoints  what the provider makes of record sets that are wanted
//	POST /records          changes
//
// The protocol has no zones: listings are joined, and changes go to the zone with the
// longest name that fits. The clients' statuses are few: 400 for what can't be read or a
// wrong method, 413 for a body that is too large, 500 for an error of the provider, with
// its text. An error of some changes leaves the others made.
//
// Package main serves the provider of --webhook-server with it. Programs of others can
// import it to be a provider for Signpost or ExternalDNS: all they need is a [provider.Provider].
//
// # Concurrency
//
// The handler may be called from any goroutine. The provider is called by one at a time.
package webhookserver
