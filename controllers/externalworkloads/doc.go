// Package externalworkloads writes the EndpointSlices of Services that select
// ExternalWorkloads.
//
// [Compute] makes all decisions: from a Service, the ExternalWorkloads and the slices that
// exist it makes a [Plan] of slices to create, update and delete. It is a pure function: no
// client, clock or log. The same objects in any order give the same plan, and once a plan is
// carried out the next one is empty. A [Controller] carries plans out, for one Service at a
// time, and makes Events of the problems in them.
//
// The slices are those that Linkerd's controller writes (spec/destination.md §8; a section
// alone is of that document here), so that taking over from it costs no writes. Three things
// differ on purpose. Labels removed from a Service leave its slices. Names are computed, so
// that of two writers who create the same slice one gets AlreadyExists. And an address or
// hostname that the API server would refuse costs only itself, not the slice it is in.
//
// In reading order: workload.go is what is kept of an ExternalWorkload, and kind.go how it is
// read. plan.go is Compute; desired.go says which endpoints there should be, pack.go in which
// slices, order.go in which order slices are written, template.go what their metadata is, and
// problem.go what is wrong with the objects. controller.go carries plans out.
//
// # Concurrency
//
// Everything may be called from any goroutine; Run has one call at a time. Arguments are
// read, never changed, and may be shared meanwhile with others who only read.
package externalworkloads
