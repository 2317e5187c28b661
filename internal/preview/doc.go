// Package preview finds out what `signpost dns` would change, without changing anything, and
// shows it: `signpost plan` is [Make] and one of the ways to write a [Plan].
//
// Objects come from the cluster, or from manifests that an object server of our own serves;
// records from the provider, or from master files. Everything else is what a publisher
// does in a dry run, so that a plan can't differ from what would happen.
//
// make.go makes a plan, inputs.go reads what takes the place of a cluster and of a
// provider, and write.go writes a plan as a table or as JSON.
//
// # Concurrency
//
// Make belongs to the goroutine of its command. A Plan is a value that doesn't change.
package preview
