// Package mirroring writes the EndpointSlices of Endpoints that somebody wrote by hand,
// for Services without a selector: most programs that read endpoints read slices only.
//
// [Compute] makes all decisions: from Endpoints, their Service and the slices that exist it
// makes a [Plan] of slices to create, update and delete. It is a pure function: no client,
// clock or log. The same objects in any order give the same plan, and once a plan is carried
// out the next one is empty. A [Controller] carries plans out, for one Service at a time, and
// makes Events of the problems in them.
//
// The slices are those that Kubernetes' controller writes (spec/endpoints.md §14), so that
// taking over from it costs no writes: one for each set of ports and each IP family, with the
// labels and annotations of the Endpoints. Two things differ on purpose. Endpoints that carry
// labels reserved for slices aren't written again and again. And where packing the subsets
// gives two ports one name, which no slice may have, there are two slices.
//
// In reading order: plan.go is Compute; desired.go says which endpoints there should be,
// template.go what the metadata of a slice is, and problem.go what isn't mirrored.
// controller.go carries plans out, and metrics.go counts what that changes.
//
// # Concurrency
//
// Everything may be called from any goroutine; Run has one call at a time. Arguments are
// read, never changed, and what is returned may share memory with them.
package mirroring
