// Package contouringressroute is the source "contour-ingressroute": records for the virtual hosts
// of contour.heptio.com/v1beta1 IngressRoute objects, the predecessors of HTTPProxies (spec/dns.md
// §6.7). dns/plugins lists it.
//
// The names are spec.virtualhost.fqdn and those of the annotation hostname, of objects that Contour
// considers valid. The targets are the addresses of Contour's Service (--contour-load-balancer), or
// those of the annotation target. When that Service changes, the IngressRoutes that use it are
// evaluated again. If it doesn't exist, they have no records, and each has a problem.
//
// The source keeps the name and the annotations about records of each selected IngressRoute, whole
// objects only for templates, and the addresses of Services.
package contouringressroute
