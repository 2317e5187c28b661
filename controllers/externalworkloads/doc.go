// Package externalworkloads writes the EndpointSlices of Services that select ExternalWorkloads. Package
// controllers makes a [Controller], calls it for changes and runs it while this process leads.
//
// [Compute] makes all decisions: from a Service, the ExternalWorkloads and the existing slices it makes a
// [Plan] of slices to create, update and delete. Compute is a pure function, without client, clock or log.
// The same objects in any order give the same plan, and once a plan is carried out the next one is empty. The
// Controller carries plans out, one Service at a time, and sends Events for the problems in them.
//
// The slices are those of Linkerd's controller (spec/destination.md §8), so that taking over from it costs no
// writes. There are three deliberate differences:
//
//   - Labels that are removed from a Service are removed from its slices.
//   - Names are computed, so that of two writers who create the same slice one gets AlreadyExists.
//   - An address or hostname that the API server would refuse is left out, instead of the whole slice.
//
// # Concurrency
//
// Everything may be called from any goroutine; Run has one call at a time. Arguments are never changed.
package externalworkloads
