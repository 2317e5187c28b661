// Package watched says what the controllers keep of the objects that they follow.
//
// Pods and nodes are kept as compact records ([Pod], [Node]), of which [WithObjects] and
// [Node.Object] make as much of the API object as endpoints depend on. Services, Endpoints and
// EndpointSlices are kept whole, because they are what is written again.
//
// Package controllers makes tables of these kinds and gives them to kube.New. All
// values are immutable once they are made, so anything may run concurrently.
package watched
