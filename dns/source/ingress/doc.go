// Package ingress is the source "ingress": records for the hosts of networking.k8s.io/v1 Ingress
// objects (spec/dns.md §6.4). dns/plugins lists it.
//
// The names are those of the rules, of the TLS section, and of the annotation hostname. The targets
// are the addresses in the status, or those of the annotation target. An Ingress depends on no
// other object, so a change costs one evaluation.
//
// The source keeps the hosts, the addresses and the annotations about records of each selected
// Ingress, and whole objects only for templates.
package ingress
