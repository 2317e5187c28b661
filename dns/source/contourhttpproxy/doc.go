// Package contourhttpproxy is the source "contour-httpproxy": records for the virtual hosts of
// projectcontour.io/v1 HTTPProxy objects (spec/dns.md §6.7). dns/plugins lists it.
//
// The names are spec.virtualhost.fqdn and those of the annotation hostname. The targets are the
// addresses in the status, or those of the annotation target. Included proxies have no virtual
// host. An HTTPProxy depends on no other object. Whether Contour considers it valid is ignored.
//
// The source keeps the name, the addresses and the annotations about records of each selected
// HTTPProxy, and whole objects only for templates.
package contourhttpproxy
