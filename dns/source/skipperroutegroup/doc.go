// Package skipperroutegroup is the source "skipper-routegroup": records for the hosts of Skipper's
// RouteGroups, zalando.org/v1 unless the user names another group and version (spec/dns.md §6.11).
// dns/plugins lists it.
//
// The names are spec.hosts and those of the annotation hostname. The targets are the addresses in
// the status, or those of the annotation target. A RouteGroup depends on no other object.
// RouteGroups are watched, where ExternalDNS lists all of them in each interval.
//
// The source keeps the names, the addresses and the annotations about records of each selected
// RouteGroup, and whole objects only for templates.
package skipperroutegroup
