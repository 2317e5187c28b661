// +groupName=workload.linkerd.io
// +versionName=v1beta1
// +kubebuilder:object:generate=true

// Package workload has the Go types of the API group workload.linkerd.io/v1beta1, of which Signpost reads one
// kind: ExternalWorkload, a machine outside the cluster that serves like a Pod. Package kube/kinds converts
// its objects to values of package catalog; nothing writes them. The custom resource definition in
// deploy/crds is generated from the comments here by "make generate".
//
// # Tolerance
//
// A list is decoded as a whole, so one undecodable object would hide all others. Decoding an
// ExternalWorkloadSpec or ExternalWorkloadStatus therefore never fails: the Problem field says what is wrong.
//
// # Versions
//
// v1alpha1, which spells "meshTLS" as "meshTls", allows one address and is served by other installations, is
// not declared here. Install the generated definition if the cluster has none. If Linkerd's is installed,
// keep it: these types read its objects too.
//
// # Concurrency
//
// Values are plain data: safe for concurrent reading, not for writing.
package workload
