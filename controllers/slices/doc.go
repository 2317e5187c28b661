// Package slices reads and writes the EndpointSlices of one controller. Packages endpointslices, mirroring
// and externalworkloads each have a [Store].
//
// A Store reads from the table of EndpointSlices with the controller's own writes on top. It gives new slices
// names that two leaders would choose alike, and tells external changes from the controller's own.
//
// # Concurrency
//
// The methods of a Store may be called from any goroutine. The slices of a Service are written by one
// goroutine at a time.
package slices
