// +groupName=linkerd.io
// +versionName=v1alpha2
// +kubebuilder:object:generate=true

// Package linkerd has the Go types of the API group linkerd.io/v1alpha2, of which Signpost reads one kind:
// ServiceProfile. Package kube/kinds converts its objects to values of package catalog; nothing writes them.
// The custom resource definition in deploy/crds is generated from the comments here by "make generate".
//
// # Tolerance
//
// A list is decoded as a whole, so one undecodable object would hide all others. Decoding a
// ServiceProfileSpec therefore never fails: the Problem field says what is wrong. Two shapes that users write
// are accepted, too: "not" as a list, and "opaquePorts" as a map.
//
// # Versions
//
// v1alpha1, which other installations serve, is not declared here. Install the generated definition if the
// cluster has none. If Linkerd's is installed, keep it: these types read its objects too.
//
// # Concurrency
//
// Values are plain data: safe for concurrent reading, not for writing.
package linkerd
