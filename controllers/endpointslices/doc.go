// Package endpointslices writes the EndpointSlices of Services that select pods, replacing the Kubernetes
// EndpointSlice controller (spec/endpoints.md §13).
//
// The reconciler of k8s.io/endpointslice decides what slices should contain and how they are packed. This
// package gives it the members and the slices of a Service, without scans or outdated reads, and carries out
// its writes. For a Service with many ports, the reconciler gets aliases of the ports. Package controllers
// makes the [Controller], calls it for changes and runs it.
//
// # Concurrency
//
// The methods of a Controller may be called from any goroutine; Run has one call at a time.
package endpointslices
