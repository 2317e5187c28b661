// Package mirroring writes the EndpointSlices of Endpoints that somebody wrote by hand,
// for Services without a selector: most of those who read endpoints read slices only.
//
// [Compute] is the whole of the thinking: from Endpoints, their Service and the slices
// that exist it makes a [Plan] of slices to create, update and delete. It is a pure
// function: no client, clock or log. The same objects in any order give the same plan,
// and once a plan is carried out the next one is empty. A [Controller] calls it for one
// Service at a time, writes what it says, and makes Events of the problems in it.
//
// The slices are those that Kubernetes' controller writes (spec/endpoints.md §14), so
// taking over from it costs no writes: for each set of ports and each IP family one,
// with the labels and annotations of the Endpoints. On purpose different: Endpoints
// that carry labels reserved for slices aren't written again and again; and where packing
// the subsets gives two ports one name, which no slice may have, there are two slices.
//
// # Concurrency
//
// Everything may be called from any goroutine. Arguments are read, never changed, and
// what is returned may share memory with them.
package mirroring
