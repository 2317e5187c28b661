// Package process runs the roles of a config in one process: what they watch, serve and write.
// The commands of cmd/signpost call [Run] or, for `signpost dns`, [RunDNS].
//
// Each role says which tables it needs, what it serves, and what runs until the end. The roles
// are put together over one cluster, so that each kind of object is watched once. Then all
// addresses are bound, and everything runs until the context ends. Two roles that serve the
// same gRPC service or the same path are an error.
//
// Read start.go and process.go first: from a config to a process. serve.go, grpcserver.go and
// readiness.go serve it. The roles are in destinationrole.go (with links.go),
// controllersrole.go (with controllermetrics.go) and dnsrole.go (with
// once.go, dnsbuild.go and serveprovider.go). writer.go, refusable.go, leadership.go, clients.go
// and bounded.go are for roles that write; clientmetrics.go measures all clients of API servers,
// memory.go limits the heap, and herd.go lets garbage wait while many streams come.
// inspection.go, with inspectdestination.go and inspectcontrollers.go, has what the inspection API says of
// the process.
//
// # Concurrency
//
// A process is made and served in the goroutine of the command. Its actors run in goroutines
// of their own; what they share is said where it is declared.
package process
