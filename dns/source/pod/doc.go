// Package pod is the source "pod": records for core/v1 Pods (spec/dns.md §6.11).
//
// The names in the annotation hostname point to the addresses of the node that the pod
// runs on, those in internal-hostname and those of --pod-source-domain to the address of
// the pod; the annotation target takes the place of both. Templates give names to all
// addresses of the pod. The records have no label resource.
//
// A pod depends on its node, so a node that changes its addresses has the pods on it
// evaluated again: an index by node finds them. A pod that has finished asks for nothing,
// because its address may be another one's by now.
//
// dns/plugins registers it. Of pods that ask for nothing only the names are kept.
//
// # Concurrency
//
// As package source says.
package pod
