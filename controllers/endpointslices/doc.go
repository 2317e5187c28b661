// Package endpointslices writes the EndpointSlices of Services that select pods, in the
// place of the Kubernetes EndpointSlice controller (spec/endpoints.md §13).
//
// What slices have to be, and how they are packed, is decided by the reconciler of
// k8s.io/endpointslice. This package gives it the members of a Service and its
// slices, both without a scan or an outdated read, and carries out its writes.
// Package controllers makes the [Controller], tells it about changes and runs it.
//
// The methods of a Controller may be called from any goroutine.
package endpointslices
