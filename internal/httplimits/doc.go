// Package httplimits has the limits of our HTTP servers for clients, and enforces them.
//
// Packages admin and webhookserver serve untrusted clients, such as any pod of the cluster, with [Serve]. It
// limits the size of headers (serve.go), and the connections, in total and of one host (listener.go). [Limit]
// limits the requests at a time of a handler that needs much memory (requests.go). If all places
// are taken, the host with the most loses its oldest connection or request to a host with fewer (places.go).
// A new connection always gets a place, if need be that of the host's own oldest one; a request does not.
// Thus no client can lock out probes and scrapes. The limits of gRPC servers are in package clientlimits.
//
// # Concurrency
//
// Everything may be called from any goroutine.
package httplimits
