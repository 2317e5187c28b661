// Package slices reads and writes the EndpointSlices that one of the controllers
// manages.
//
// A [Store] reads from the table of EndpointSlices with the controller's own writes on
// top, gives new slices names that two leaders would choose alike, and tells the
// changes that somebody else made from the controller's own. Packages endpointslices,
// mirroring and externalworkloads each have one.
//
// The methods of a Store may be called from any goroutine; the slices of a Service are
// written by one at a time.
package slices
