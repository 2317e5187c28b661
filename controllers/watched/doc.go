// Package watched says what the controllers keep of the objects that they follow.
//
// Pods and nodes are kept as compact records ([Pod], [Node]), of which [WithObjects] and
// [Node.Object] make as much of the API object as endpoints depend on. Services are kept
// whole. Endpoints and EndpointSlices, which the controllers write themselves, are kept as
// the API server sent them ([Encoded]), to be decoded when a sync looks at them.
//
// In reading order: pod.go is what is kept of a pod, podmessage.go reads that from protobuf,
// and podobjects.go makes API objects of it; node.go does the same for nodes; encoded.go
// keeps encoded objects, and objects.go has the kinds of the remaining objects.
//
// Package controllers makes tables of these kinds and gives them to kube.New. All values
// are immutable once they are made, so that anything may run concurrently.
package watched
