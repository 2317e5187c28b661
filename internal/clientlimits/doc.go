// Package clientlimits has the limits of our gRPC servers for clients, and enforces them.
//
// Packages destination and xds serve untrusted clients. Both make a [Limits] from the settings, pass its
// ServerOptions to their gRPC server, serve on the listener of its [Connections], count the resources of each
// client with [Clients], and the memory of unread messages with Connections. A [Call] counts until gRPC has
// sent its messages. Both validate requests themselves.
//
// # Concurrency
//
// Everything may be called from any goroutine. A Limits must not change once a server has it.
package clientlimits
