// Package openshiftroute is the source "openshift-route": records for route.openshift.io/v1 Route
// objects (spec/dns.md §6.11). dns/plugins lists it.
//
// Each router writes an entry into the status of a Route. The first admitted entry with a canonical
// name of its router counts: the name of the record is the host of that entry, and the target is
// that canonical name. A flag limits this to one router. The annotation hostname adds names, and
// the annotation target overrides the target. A Route depends on no other object.
//
// The source keeps that entry and the annotations about records of each selected Route, and whole
// objects only for templates.
package openshiftroute
