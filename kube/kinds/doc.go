// Package kinds has the kinds of objects that a catalog is made of: what is kept of a
// Service, a Pod, an EndpointSlice and so on, and what is wrong with it.
//
// [CatalogTables] and [LinkedTables] are the table of them: a kind that the catalog is to know
// of gets a file here and a line there. The controllers and the sources of DNS records keep
// other things of the same objects; they make their kinds of these with [kube.Retrim], so that
// all tables of a resource share one watch. [Labels] and [ReportTo] are for them, too.
//
// # Concurrency
//
// All functions may be called from any goroutine. The values that are kept are shared, and
// must not be changed.
package kinds
