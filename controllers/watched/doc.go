// Package watched defines the parts of watched objects that the controllers keep. Package controllers makes
// tables of these kinds and passes them to kube.New.
//
// Pods and nodes are kept as compact records ([Pod], [Node]). [WithObjects] and [Node.Object] turn them into
// API objects with the fields that endpoints depend on. Services are kept in full. Endpoints and
// EndpointSlices, which the controllers write themselves, are kept as the API server sent them ([Encoded]),
// and decoded when a sync needs them.
//
// # Concurrency
//
// All values are immutable and may be used from any goroutine.
package watched
