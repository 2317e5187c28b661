// Package preview computes the changes that `signpost dns` would make, without making them.
// `signpost plan` calls [Make] and writes the [Plan] as a table or as JSON.
//
// Objects come from the cluster, or from manifests that our own object server serves. Records
// come from the provider, or from master files. Everything else is the dry run of a publisher, so
// that a plan has the same changes as a real run.
//
// # Concurrency
//
// Make plans the publishers of a config in goroutines, which have ended when it returns. A Plan doesn't
// change.
package preview
