// Package process runs the roles of a config in one process. The commands of cmd/signpost call
// [Run] or, for `signpost dns`, [RunDNS].
//
// Each role declares its tables, its gRPC services and HTTP paths, and its actors. The roles share
// one cluster, so that each kind of object is watched once. All addresses are bound before anything
// is started. Then everything runs until the context ends. Two roles with the same gRPC service or
// the same path are an error.
//
// # Concurrency
//
// A process is created and served in the goroutine of the command. Its actors run in goroutines of
// their own; shared state is documented where it is declared.
package process
