// Package externalworkload is the source "externalworkload": records for workload.linkerd.io
// ExternalWorkloads, which are machines outside of the cluster that are part of its mesh.
// ExternalDNS has no such source.
//
// The names are those in the annotation hostname, or those of templates. The targets are the
// addresses in spec.workloadIPs, or those in the annotation target. The label resource is
// externalworkload/<namespace>/<name>.
//
// dns/plugins registers it. The cluster doesn't need to have the kind. If the spec of a
// workload can't be decoded, its last good version stays in use.
//
// # Concurrency
//
// See package source.
package externalworkload
