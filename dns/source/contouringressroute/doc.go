// Package contouringressroute is the source "contour-ingressroute": records for the
// virtual hosts of contour.heptio.com/v1beta1 IngressRoute objects, which Contour had
// before HTTPProxies (spec/dns.md §6.7).
//
// The names are spec.virtualhost.fqdn and those in the annotation hostname, of objects
// that Contour holds to be valid. They point to the addresses of the load balancer of one
// Service, that of Contour, which the flag --contour-load-balancer names, or to those in
// the annotation target. A change of that Service evaluates the IngressRoutes anew that
// use it; as long as it doesn't exist, they ask for nothing and say so.
//
// dns/plugins registers it. The source keeps the name and our annotations of each
// IngressRoute that it is for, whole objects only for templates, and one Service.
//
// # Concurrency
//
// As package source says.
package contouringressroute
