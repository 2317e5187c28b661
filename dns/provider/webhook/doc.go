// Package webhook is the provider that uses another program: a client of the webhook protocol
// of ExternalDNS, version 1 (spec/dns.md §8.9).
//
//	GET  <base>                  which names the program can have (negotiation)
//	GET  <base>/records          all records
//	POST <base>/adjustendpoints  what the program would store for wanted record sets
//	POST <base>/records          changes
//
// The program usually runs beside Signpost and may start after it, or restart. So the first
// call negotiates, and so does the first one after the program could not be reached. If the
// program isn't there, that call fails, and later ones try again. In a dry run, a transport
// refuses everything that could change something. dns/webhookserver is the server of the
// protocol.
//
// Read it in this order: config.go, provider.go, adjust.go, negotiation.go, exchange.go, metrics.go.
//
// # Concurrency
//
// The provider may be called from any goroutine. One of them negotiates, and the others wait
// for the result.
package webhook
