// Package kinds defines the kinds of objects that a catalog is made of: what is kept of a Service, a Pod, an
// EndpointSlice and so on, and what is reported as unusable. [CatalogTables] and [LinkedTables] fill a catalog
// from our own cluster and from linked ones; a new kind gets a file here and a line there.
//
// The limits of what is accepted from an object are in one place, limits.go. The controllers and the sources
// of DNS records keep other things of the same objects. They make their kinds from these with [kube.Retrim],
// so that all tables of a resource share one watch. [Labels] is for them, too.
//
// # Concurrency
//
// All functions may be called from any goroutine. Kept values are shared and must not be changed.
package kinds
