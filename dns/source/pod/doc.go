// Package pod is the source "pod": records for core/v1 Pods (spec/dns.md §6.11). dns/plugins lists
// it.
//
// For names of the annotation hostname, the targets are the addresses of the Pod's node. For names
// of internal-hostname and of --pod-source-domain, the target is the address of the Pod. The
// annotation target overrides both. Names of templates have all addresses of the Pod. The records
// have no label resource.
//
// When the addresses of a node change, its Pods, found by an index, are evaluated again. A finished
// Pod asks for nothing, because its address may belong to another Pod. Of Pods that ask for
// nothing, only the names are kept.
package pod
