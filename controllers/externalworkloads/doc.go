// Package externalworkloads writes the EndpointSlices of Services that select
// ExternalWorkloads.
//
// [Compute] is the whole of the thinking: from a Service, the ExternalWorkloads and
// the slices that exist it makes a [Plan] of slices to create, update and delete. It
// is a pure function: no client, clock or log. The same objects in any order
// give the same plan, and once a plan is carried out the next one is empty. [Workloads]
// says how workloads are read, and the [Controller] carries plans out.
//
// The slices are those that Linkerd's controller writes (spec/destination.md §8; a
// section alone is of that document here), so taking over from it costs no writes. On purpose
// different: labels removed from a Service leave its slices; names are computed, so that
// two writers that create the same slice meet as AlreadyExists; and an address or
// hostname that the API server would refuse costs only itself, not the slice it is in.
//
// The loop that syncs Services calls this package, for one Service at a time, and makes
// Events of the problems in a plan.
//
// # Concurrency
//
// Everything may be called from any goroutine. Arguments are read, never
// changed, and may be shared meanwhile with others who only read.
package externalworkloads
