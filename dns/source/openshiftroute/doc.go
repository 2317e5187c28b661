// Package openshiftroute is the source "openshift-route": records for route.openshift.io/v1
// Route objects (spec/dns.md §6.11).
//
// Each router that has seen a Route writes into its status. The first entry counts that is
// admitted and has the canonical name of its router: the name of the record is the host of that
// entry, and the target is that canonical name. A flag limits this to one router. There are also
// the names in the annotation hostname, and the annotation target has other targets. A Route
// depends on no other object.
//
// dns/plugins registers it. The source keeps that entry and the annotations about records of each
// selected Route, and whole objects only for templates.
//
// # Concurrency
//
// See package source.
package openshiftroute
