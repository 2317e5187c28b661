// Package webhookserver serves a provider over the webhook protocol of ExternalDNS, version 1
// (spec/dns.md §8.9). Package process uses it for --webhook-server. Other programs can import it to
// become a provider for Signpost or ExternalDNS: they only need a [provider.Provider].
//
//	GET  /                 the names that the provider can have; so does any unknown path
//	GET  /records          all record sets of all zones
//	POST /adjustendpoints  what the provider would store for wanted record sets
//	POST /records          changes
//
// The protocol has no zones: listings of all zones are joined, and a change goes to the zone with
// the longest name that contains it. The status is 400 for a request that can't be read or has the
// wrong method, 413 for a body that is too large, and 500 with the text of the error if the
// provider fails. If some changes fail, the others are made.
//
// # Concurrency
//
// The handler may be called from any goroutine. Calls of the provider never overlap.
package webhookserver
