// +groupName=policy.linkerd.io
// +versionName=v1beta3
// +kubebuilder:object:generate=true

// Package policy has the Go types of the API group policy.linkerd.io/v1beta3, of which Signpost reads one
// kind: Server. Package kube/kinds converts its objects to values of package catalog; nothing writes them.
// The custom resource definition in deploy/crds is generated from the comments here by "make generate".
//
// # Tolerance
//
// A list is decoded as a whole, so one undecodable object would hide all others. Decoding a ServerSpec
// therefore never fails: the Problem field says what is wrong.
//
// # Versions
//
// v1alpha1, v1beta1 and v1beta2, which other installations serve, are not declared here. Install the
// generated definition if the cluster has none. If Linkerd's is installed, keep it: these types read its
// objects too.
//
// # Concurrency
//
// Values are plain data: safe for concurrent reading, not for writing.
package policy
