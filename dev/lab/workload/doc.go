// Package workload plans and makes the edits of the lab's user ("the person") in the cluster and the zone. A
// [Plan] is a pure function of a seed: the initial objects, the initial zone, and an endless sequence of
// edits with their times. A [Player] makes the edits on a real API server, and on a name server by dynamic
// updates (RFC 2136). The program of the lab calls both. Validators only read the history of the run.
//
// An edit is one request with the desired state instead of a step, so that it can be repeated if its result
// is unknown. The edits also give pods their phase, conditions and addresses, because the lab has no kubelet.
//
// # Concurrency
//
// A Plan is immutable. A Player is used by one goroutine. It makes the edits of objects one after the other
// and, in parallel, those of the zone one after the other.
package workload
