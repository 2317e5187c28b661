// Package webhook is the provider behind another program: a client of the webhook protocol of
// ExternalDNS, version 1 (spec/dns.md §8.9). Package publisher calls it; package webhookserver is
// the server of the protocol.
//
//	GET  <base>                  which names the program can have (negotiation)
//	GET  <base>/records          all records
//	POST <base>/adjustendpoints  what the program would store for wanted record sets
//	POST <base>/records          changes
//
// The program usually runs beside Signpost, and may start later or restart. So the first call
// negotiates, so does the first one after the program was unreachable, and a listing of zones after
// ten minutes. If the program is unreachable, the call fails, and later ones try again. In a dry
// run, a transport refuses everything that could change something.
//
// # Concurrency
//
// The provider may be called from any goroutine. One of them negotiates, and the others wait for
// the result.
package webhook
