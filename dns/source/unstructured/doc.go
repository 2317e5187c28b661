// Package unstructured is the source "unstructured": records for objects of any kind, which the
// user names as resources (spec/dns.md §6.11). dns/plugins lists it.
//
// The names are those of the annotation hostname, with the targets of the annotation target.
// Templates read the whole object, including status.conditions, and make names, targets, or pairs
// of both. The user names resources, such as widgets.v1.example.com; only the objects themselves
// tell their kind. A resource that the cluster lacks is reported as unreadable, and the others are
// published.
//
// The source keeps the annotations about records of each selected object, and whole objects if
// there are templates.
package unstructured
