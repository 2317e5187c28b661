// Package preview finds out what `signpost dns` would change, without changing anything, and
// shows it. `signpost plan` calls [Make] and writes the [Plan] as a table or as JSON.
//
// Objects come from the cluster, or from manifests that our own object server serves. Records
// come from the provider, or from master files. Everything else is the dry run of a publisher,
// so that a plan can't differ from what would happen.
//
// make.go makes a plan, inputs.go reads the files that replace a cluster and a provider,
// plan.go and unpublished.go say what a plan has, and write.go writes it.
//
// # Concurrency
//
// Make runs in the goroutine of its command. A Plan doesn't change.
package preview
