// Package contourhttpproxy is the source "contour-httpproxy": records for the virtual hosts of
// projectcontour.io/v1 HTTPProxy objects (spec/dns.md §6.7).
//
// The names are spec.virtualhost.fqdn and those in the annotation hostname. The targets are
// the addresses in the status, or those in the annotation target. Proxies that are included by
// others have no virtual host. An HTTPProxy depends on no other object. It doesn't matter
// whether Contour considers it valid.
//
// dns/plugins registers it. The source keeps the name, the addresses and the annotations about
// records of each selected HTTPProxy, and whole objects only for templates.
//
// # Concurrency
//
// See package source.
package contourhttpproxy
