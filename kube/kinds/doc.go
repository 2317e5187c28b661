// Package kinds has the kinds of objects that a catalog is made of: what is kept of a
// Service, a Pod, an EndpointSlice and so on, and what is reported as unusable.
//
// catalog.go has [CatalogTables] and [LinkedTables], which list the kinds: a new kind gets a
// file here and a line there. door.go has the limits of what is let in, with ports.go for lists
// of ports; trim.go has what else the kinds share. Each kind has a file:
// service.go with federation.go, endpointslice.go, endpoints.go, pod.go, externalworkload.go,
// owner.go, node.go, server.go, serviceprofile.go.
//
// The controllers and the sources of DNS records keep other things of the same objects. They
// make their kinds from these with [kube.Retrim], so that all tables of a resource share one
// watch. [Labels] (labels.go) and [ReportTo] (report.go) are for them, too.
//
// # Concurrency
//
// All functions may be called from any goroutine. The values that are kept are shared, and
// must not be changed.
package kinds
