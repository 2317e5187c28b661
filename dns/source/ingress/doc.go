// Package ingress is the source "ingress": records for the hosts of networking.k8s.io/v1
// Ingress objects (spec/dns.md §6.4).
//
// The names are those of the rules, of the TLS section, and of the annotation hostname. The
// targets are the addresses in the status, or those in the annotation target. An Ingress
// depends on no other object, so that a change costs one evaluation.
//
// dns/plugins registers it. The source keeps the hosts, the addresses and the annotations
// about records of each selected Ingress, and whole objects only for templates.
//
// # Concurrency
//
// See package source.
package ingress
