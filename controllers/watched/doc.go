// Package watched says what the controllers keep of the objects that they follow.
//
// Pods and nodes are kept as compact records ([Pod], [Node]), of which [WithObjects] and
// [Node.Object] make as much of the API object as endpoints depend on. Services are kept
// whole. Endpoints and EndpointSlices, which the controllers write themselves, are kept as the
// API server sent them ([Encoded]), to be decoded when a sync looks at them.
//
// Package controllers makes tables of these kinds and gives them to kube.New. All
// values are immutable once they are made, so anything may run concurrently.
package watched
