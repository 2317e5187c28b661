// Package pod is the source "pod": records for core/v1 Pods (spec/dns.md §6.11).
//
// For names in the annotation hostname, the targets are the addresses of the Pod's node. For
// names in internal-hostname and for those of --pod-source-domain, the target is the address
// of the Pod. The annotation target replaces both. Names of templates get all addresses of the
// Pod. The records have no label resource.
//
// A Pod depends on its node, so when the addresses of a node change, the Pods on it are
// evaluated again; an index by node finds them. A Pod that has finished asks for nothing,
// because its address may belong to another Pod by now.
//
// dns/plugins registers it. Of Pods that ask for nothing, only the names are kept.
//
// # Concurrency
//
// See package source.
package pod
