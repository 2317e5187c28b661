// Package linked feeds a catalog from the clusters that are linked to our own. The roles destination and xds
// of a process share one [Set].
//
// A link is a Secret in the namespace of the control plane (spec/destination.md §4) with the name and the
// domains of a cluster, and a kubeconfig for it. The Set reads these Secrets and keeps a kube.Cluster for
// each link. Secrets may be added, completed, changed or deleted at any time.
//
// The state of a cluster:
//
//   - connecting until everything has been read once;
//   - synced while its changes are followed;
//   - stale while it can't be read: the catalog keeps what it has, and reading is retried until it succeeds.
//
// If the Secret is deleted, the cluster is forgotten. If the Secret becomes unusable, its last usable version
// stays in force. A connection stays in force until the connection of a new kubeconfig has read everything
// that the old one has read, or everything that it may read if the old one is refused or lost for long.
// Log, metrics and an Event on the Secret report each of these.
//
// Credentials come from the Secret only. A kubeconfig that would run a program or read a file of this host is
// refused, and so is one that leads through a proxy or to a path, unless [Options] allow it. API servers of
// other clusters are not trusted: see kube.UntrustedLimits.
//
// # Concurrency
//
// A Set has one goroutine that decides which clusters exist, and one for each cluster. No cluster waits for
// another, and nothing waits for a cluster. Status and the metrics may be read from any goroutine.
package linked
