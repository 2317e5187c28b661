// Package ingress is the source "ingress": records for the hosts of
// networking.k8s.io/v1 Ingress objects (spec/dns.md §6.4).
//
// The hosts are those of the rules and of the TLS section, and those in the annotation
// hostname; they point to the addresses in the status, or to those in the annotation
// target. An Ingress depends on no other object, so that a change costs one evaluation.
//
// dns/plugins registers it. The source keeps the hosts, the addresses and our annotations
// of each Ingress that it is for; whole objects only for templates.
//
// # Concurrency
//
// As package source says.
package ingress
