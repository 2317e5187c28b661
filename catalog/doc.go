// Package catalog holds what is: Services, the workloads behind them and the
// endpoints that follow, as immutable values.
//
// Package kube turns Kubernetes objects into the values of this package and
// puts them into a [Catalog]; the packages that hand knowledge out ask the
// Catalog for a [Snapshot] of a Service and compute answers from it with
// [Resolve], which is a pure function. A Snapshot never changes: it says when it
// is out of date through the channel of its Stale method, and its owner then
// asks for the next one.
//
// Every key has a cluster. A [Cluster] is one beside our own: while the catalog has
// it, and it is synced, Services of ours can have endpoints there. A remote Service
// has its endpoints in one cluster, a federated one in several; for a reader they are
// Services like any other, whose Snapshots happen to have other parts.
//
// # Concurrency
//
// Put, Delete, Replace, MarkSynced and the readers of a Catalog may be called from any
// goroutine. Exactly one goroutine, the one inside [Catalog.Run], applies
// changes: what is put while it is busy or holding off is applied as one step.
// Values handed to the Catalog belong to it and are not changed afterwards by
// anybody; the same goes for everything that it hands out.
//
// The package imports the standard library only: no Kubernetes client, no gRPC.
package catalog
