// Package webhook is the provider that is a program of somebody else: a client of the
// webhook protocol of ExternalDNS, version 1 (spec/dns.md §8.9).
//
//	GET  <base>                  which names the program can have (negotiation)
//	GET  <base>/records          what there is
//	POST <base>/adjustendpoints  what it makes of record sets that are wanted
//	POST <base>/records          changes
//
// The program usually runs beside Signpost and may start after it or restart: negotiation
// is part of the first call, and of the first one after the program could not be
// reached. A program that isn't there is an error of that call and no more.
//
// In a dry run a transport refuses everything that could change something.
//
// dns/plugins lists the [Plugin]; the publisher calls the provider. dns/webhookserver is the
// other end of the protocol.
//
// # Concurrency
//
// The provider may be called from any goroutine. One of them negotiates, those that need
// the outcome wait for it.
package webhook
