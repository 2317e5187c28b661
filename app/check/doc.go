// Package check finds out whether Signpost can run in a cluster, with what is configured and with
// the rights that it will have: before it is installed, and afterwards. `signpost check` calls it.
//
// A [Check] is a function that returns [Result] values, each with a state, a sentence, and what to do.
// [Checks] lists those for a [Subject]; [Run] runs them at the same time, each with a limit, and
// [Report] has what they found, in the order of the list, and the exit code. Rendering is apart.
//
// Read it in this order: check.go, subject.go; then cluster.go, rights.go, kinds.go, writers.go,
// installed.go and zones.go, which have one check each; render.go.
//
// Nothing here has a list of rights, of kinds or of zones by hand. Rights are those of package rbac,
// kinds are those of the tables and sources, and zones those of the providers.
//
// # Concurrency
//
// The checks of a list run at the same time, and share nothing that changes.
package check
