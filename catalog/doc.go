// Package catalog holds Services, the workloads behind them and the endpoints that follow from
// both, as immutable values.
//
// Package kube/kinds makes the values of this package from Kubernetes objects, and tables put
// them into a [Catalog]. The values are read, checked and of bounded size when they come: nothing
// here parses text or reports problems. A reader asks the Catalog for a [Snapshot] of a Service, and [Resolve]
// computes answers from it. A Snapshot never changes: its Stale method returns a channel that
// closes when it is out of date, and the reader then asks for the next one. [Catalog.Profile]
// answers questions about addresses and profiles in the same way.
//
// The values: values.go, serviceprofile.go, selector.go, ports.go. What changes them:
// catalog.go, and state.go with its indexes in addresses.go, cluster.go, server.go and fact.go.
// What answers: snapshot.go, target.go and resolve.go for endpoints, profile.go for profiles. walk.go
// says for people how an answer comes about.
//
// Every key has a cluster. A [Cluster] is one that is linked to our own. Once it is synced, our
// Services can have endpoints there: a remote Service has all of its endpoints in one linked
// cluster, a federated one has members in several. For a reader they are like other Services.
//
// # Concurrency
//
// Put, Delete, Replace, MarkSynced and the readers of a Catalog may be called from any
// goroutine. One goroutine, that of [Catalog.Run], applies changes. It applies in one step what
// was put while it was busy or waited for more. The values that the Catalog takes and returns
// are shared, and nobody may change them.
//
// The package imports nothing but the standard library and internal/objectmeta.
package catalog
