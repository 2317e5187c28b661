// Package unstructured is the source "unstructured": records for objects of any kinds, which the
// user names as resources (spec/dns.md §6.11).
//
// The names are those in the annotation hostname, at those in the annotation target. Templates
// look at the whole object, also at status.conditions, and make names, targets, or pairs of both.
// The user says how the API server calls the objects, such as widgets.v1.example.com; only the
// objects themselves say of which kind they are. A resource that the cluster lacks is reported as
// one that can't be read, and the others are published.
//
// dns/plugins registers it. The source keeps the annotations about records of each selected
// object, and whole objects if there are templates.
//
// # Concurrency
//
// See package source.
package unstructured
