// Package externalworkload is the source "externalworkload": records for
// workload.linkerd.io ExternalWorkloads, machines outside of the cluster that are part
// of its mesh. ExternalDNS has no such source.
//
// The names in the annotation hostname, or those of templates, point to the addresses in
// spec.workloadIPs, or to those in the annotation target. The label resource is
// externalworkload/<namespace>/<name>.
//
// dns/plugins registers it. A cluster may lack the kind. A workload whose spec can't be
// decoded keeps its last good version.
//
// # Concurrency
//
// As package source says.
package externalworkload
