// Package catalog holds Services, workloads and endpoints as immutable values with indexes.
//
// Package kube/kinds converts Kubernetes objects to the values of this package, and informer caches put
// them into a [Catalog]. The values are already validated and of bounded size: this package parses no text
// and reports no problems. Packages destination and xds read the Catalog:
//
//   - [Catalog.Service] returns a [Snapshot] of a Service. [Resolve] and [ResolveAll] compute its endpoints.
//   - [Catalog.Profile] returns a [ProfileSnapshot] of a Service or an address.
//   - [Catalog.Explain] and the other methods of explain.go and inspect.go describe the state for people.
//
// A snapshot never changes. Its Stale method returns a channel that closes when the snapshot is out of date.
// The reader then gets the next snapshot.
//
// Every key names a cluster. A [Cluster] is linked to our own. Once it is synced, Services of our own cluster
// can have endpoints there: a remote Service has all of its endpoints in one linked cluster, and a federated
// Service has members in several clusters.
//
// # Concurrency
//
// All methods of a Catalog may be called from any goroutine. One goroutine, that of [Catalog.Run], applies
// changes. All changes that were put while it was busy, or waited for more, are applied in one step. The
// values that the Catalog takes and returns are shared and must not be changed.
//
// The package imports nothing but the standard library and internal/objectmeta.
package catalog
