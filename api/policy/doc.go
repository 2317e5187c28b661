// +groupName=policy.linkerd.io
// +versionName=v1beta3
// +kubebuilder:object:generate=true

// Package policy holds the Go types of the API group policy.linkerd.io/v1beta3,
// of which Signpost reads one kind: Server.
//
// Package kube/kinds makes values of package catalog from objects of these
// types; nothing writes them. The custom resource definition in
// deploy/crds is generated from the comments here by "make generate".
//
// # Tolerance
//
// A list is decoded as a whole, so one object that does not decode would hide
// all the others. Decoding a ServerSpec therefore never fails: what does not
// fit is reported in its Problem field.
//
// # Versions
//
// v1alpha1, v1beta1 and v1beta2 are served by other installations and are not
// declared here. Install the generated definition where the cluster has none;
// where Linkerd's is present, leave it: these types read its objects too.
//
// Values are plain data: safe for concurrent reading, not for writing.
package policy
