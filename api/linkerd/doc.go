// +groupName=linkerd.io
// +versionName=v1alpha2
// +kubebuilder:object:generate=true

// Package linkerd holds the Go types of the API group linkerd.io/v1alpha2, of
// which Signpost reads one kind: ServiceProfile.
//
// Package kube/kinds makes values of package catalog from objects of these
// types; nothing writes them. serviceprofile.go has the types, decode.go decodes
// them, register.go adds them to a scheme. The custom resource definition in
// deploy/crds is generated from the comments here by "make generate".
//
// # Tolerance
//
// A list is decoded as a whole, so one object that does not decode would hide
// all others. Decoding a ServiceProfileSpec therefore never fails: the Problem
// field says what does not fit. Two shapes that users write are accepted, too:
// "not" as a list, and "opaquePorts" as a map.
//
// # Versions
//
// v1alpha1 is served by other installations and is not declared here. Install
// the generated definition where the cluster has none; where Linkerd's is
// present, leave it: these types read its objects too.
//
// Values are plain data: safe for concurrent reading, not for writing.
package linkerd
