// Package clientlimits has the limits of our gRPC servers, and holds clients to them.
//
// Packages destination and xds serve clients that nobody controls, such as any pod of the cluster. Both make a
// [Limits] from the settings, give its ServerOptions to their gRPC server, serve on a [NewListener], and count
// with [Clients] what each client makes them hold. What a request may contain is up to them.
//
// # Concurrency
//
// Everything may be called from any goroutine. A Limits doesn't change once a server has it.
package clientlimits
