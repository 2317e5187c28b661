// Package skipperroutegroup is the source "skipper-routegroup": records for the hosts of Skipper's
// RouteGroups, zalando.org/v1 unless the user names another group and version (spec/dns.md §6.11).
//
// The names are spec.hosts and those in the annotation hostname. The targets are the addresses in
// the status, or those in the annotation target. A RouteGroup depends on no other object. It is
// watched like every other kind, where ExternalDNS lists all RouteGroups in each interval.
//
// dns/plugins registers it. The source keeps the names, the addresses and the annotations about
// records of each selected RouteGroup, and whole objects only for templates.
//
// # Concurrency
//
// See package source.
package skipperroutegroup
