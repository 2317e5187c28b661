// +groupName=workload.linkerd.io
// +versionName=v1beta1
// +kubebuilder:object:generate=true

// Package workload holds the Go types of the API group
// workload.linkerd.io/v1beta1, of which Signpost reads one kind:
// ExternalWorkload, a machine outside the cluster that serves like a Pod.
//
// Package kube/kinds makes values of package catalog from objects of these
// types; nothing writes them. The custom resource definition in
// deploy/crds is generated from the comments here by "make generate".
//
// # Tolerance
//
// A list is decoded as a whole, so one object that does not decode would hide
// all the others. Decoding an ExternalWorkloadSpec or ExternalWorkloadStatus
// therefore never fails: what does not fit is reported in its Problem field.
//
// # Versions
//
// v1alpha1, which spells "meshTLS" as "meshTls" and allows one address, is
// served by other installations and is not declared here. Install the generated
// definition where the cluster has none; where Linkerd's is present, leave it:
// these types read its objects too.
//
// Values are plain data: safe for concurrent reading, not for writing.
package workload
