// Package xdsclient requests the resources of a target as a gRPC client does, from any server of the
// aggregated stream, and prints them as a tree: Listener, routes, Clusters, endpoints. The command
// `signpost xds get` calls it. wire.go reads most fields by their numbers, because the generated code
// of Envoy's API would be most of the program.
//
// # Concurrency
//
// A call of [Get] is one goroutine, and calls share nothing.
package xdsclient
