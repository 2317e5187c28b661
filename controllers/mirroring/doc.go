// Package mirroring writes the EndpointSlices of hand-written Endpoints, for Services without a selector,
// because most programs that read endpoints read slices only. Package controllers makes a [Controller], calls
// it for changes and runs it while this process leads.
//
// [Compute] makes all decisions: from Endpoints, their Service and the existing slices it makes a [Plan] of
// slices to create, update and delete. Compute is a pure function, without client, clock or log. The same
// objects in any order give the same plan, and once a plan is carried out the next one is empty. The
// Controller carries plans out, one Service at a time, and sends Events for the problems in them.
//
// The slices are those of Kubernetes' controller (spec/endpoints.md §14), so that taking over from it costs
// no writes: one slice for each set of ports and each IP family, with the labels and annotations of the
// Endpoints. There are three deliberate differences:
//
//   - Endpoints with labels that are reserved for slices aren't written again and again.
//   - If packing the subsets gives two ports one name, which no slice may have, there are two slices.
//   - The number of endpoints and of slices is limited, because a small object can ask for millions.
//
// # Concurrency
//
// Everything may be called from any goroutine; Run has one call at a time. Arguments are never changed;
// results may share memory with them.
package mirroring
