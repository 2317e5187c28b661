// Package externalworkload is the source "externalworkload": records for workload.linkerd.io
// ExternalWorkloads, machines outside of the cluster that are part of its mesh. ExternalDNS has no
// such source. dns/plugins lists it.
//
// The names are those of the annotation hostname, or of templates. The targets are the addresses in
// spec.workloadIPs, or those of the annotation target. The label resource is
// externalworkload/<namespace>/<name>.
//
// The kind is optional. If the spec of a workload can't be decoded, its last good version stays in
// use.
package externalworkload
