// Package clientlimits has the limits of our gRPC servers for clients, and enforces them.
//
// Packages destination and xds serve untrusted clients, such as any pod of the cluster. Both make a [Limits]
// from the settings, pass its ServerOptions to their gRPC server, serve on the listener of its [Connections],
// and count the resources that each client uses with [Clients], and the memory of messages that clients don't
// read with Connections. A [Call] counts until gRPC has sent its messages. Both validate the contents of
// requests themselves.
//
// # Concurrency
//
// Everything may be called from any goroutine. A Limits must not change once a server has it.
package clientlimits
