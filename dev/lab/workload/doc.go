// Package workload decides what people do to the cluster and the zone of the lab, and does it. A [Plan] is a pure
// function of a seed: the objects at the beginning, the zone at the beginning, and an endless sequence of edits with
// their times. A [Player] makes them on a real API server, and on a name server by dynamic updates (RFC 2136). The
// program of the lab calls both; validators read only the history of the run.
//
// An edit is one request, and asks for what should be there instead of for a step, so that it can be repeated when
// nobody knows what became of it. Nothing else in the lab plays the part of the kubelet: the edits give pods their
// phase, conditions and addresses.
//
// Read it in this order: edit.go, plan.go and simulation.go for how edits come about; pods.go, web.go, names.go,
// foreign.go and mesh.go for what happens to objects, and person.go for the zone; objects.go makes the objects;
// player.go, api.go and update.go make the edits.
//
// # Concurrency
//
// A Plan is immutable. A Player is used by one goroutine; it makes the edits of objects one after the other, and those
// of the zone one after the other beside them.
package workload
