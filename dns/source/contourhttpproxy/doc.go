// Package contourhttpproxy is the source "contour-httpproxy": records for the virtual
// hosts of projectcontour.io/v1 HTTPProxy objects (spec/dns.md §6.7).
//
// The names are spec.virtualhost.fqdn, which only the proxies have that aren't included
// by others, and those in the annotation hostname; they point to the addresses in the
// status, or to those in the annotation target. An HTTPProxy depends on no other object.
// Whether Contour holds it to be valid doesn't matter.
//
// dns/plugins registers it. The source keeps the name, the addresses and our annotations
// of each HTTPProxy that it is for; whole objects only for templates.
//
// # Concurrency
//
// As package source says.
package contourhttpproxy
