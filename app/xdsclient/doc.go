// Package xdsclient requests the resources of a target as a gRPC client does, and prints them as
// a tree: Listener, routes, Clusters, endpoints.
//
// The command `signpost xds get` calls it. It works with any server of the aggregated stream, and
// reads the few fields that it prints by their numbers: the generated code of Envoy's API would be
// most of the program. wire.go has these.
//
// # Concurrency
//
// A call of [Get] is one goroutine, and calls share nothing.
package xdsclient
