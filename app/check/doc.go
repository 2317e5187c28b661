// Package check checks whether Signpost can run in a cluster with its configuration and its rights,
// before and after it is installed. `signpost check` calls it.
//
// A [Check] is a function that returns [Result] values, each with a state, a sentence, and what to
// do. [Checks] lists those for an [Input]. [Run] runs them in parallel, each with a time limit.
// The [Report] has the results, in the order of the list, and the exit code.
//
// Rights come from package rbac, kinds from the tables and sources, and zones from the providers,
// so nothing is listed by hand here.
//
// # Concurrency
//
// The checks of a list run in parallel, and share no mutable state.
package check
