// Package process runs the roles of a config in one process: what they watch, what they serve,
// what they write, and who leads. The commands of cmd/signpost call it.
//
// A role says which tables it needs, what it serves and what runs until the end. [New] puts the
// roles together over one cluster, that is, one watch of each kind; [Serve] binds the
// addresses and runs everything until its context ends. Two roles that want to serve the same
// gRPC service or the same path are an error. [Once] publishes records once, and
// [ServeProvider] serves a DNS provider to others.
//
// Read start.go and process.go first: from a config to a running process. destinationrole.go (with
// links.go), controllersrole.go (with writer.go, frugality.go and controllermetrics.go) and
// dnsrole.go (with once.go, dnsbuild.go and serveprovider.go) are the roles; grpcserver.go serves,
// clients.go and bounded.go make the clients that write.
//
// # Concurrency
//
// New and Serve are called from the goroutine of the command. Actors run in goroutines of
// their own; what they share is said at each.
package process
