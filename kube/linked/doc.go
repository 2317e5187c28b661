// Package linked feeds a catalog from the clusters that are linked to our own.
//
// A link is a Secret in the namespace of the control plane (spec/destination.md §4). It has the
// name and the domains of a cluster, and a kubeconfig for it. [Set] (set.go) reads these Secrets
// and keeps a kube.Cluster for each link. A Secret may be added, completed, changed or deleted
// at any time. secret.go and kubeconfig.go check a Secret, cluster.go follows a cluster,
// connection.go reads it with one kubeconfig,
// intake.go passes its objects to the catalog, status.go and metrics.go tell how it is.
//
// A cluster is connecting until everything has been read once, then synced, and stale while
// it can't be read. Then the catalog keeps what is known of it, and reading is retried until
// it succeeds. The cluster is forgotten when its Secret is deleted. A Secret that becomes
// unusable changes nothing: the last usable one stays in force. So does a connection, until the
// one of a new kubeconfig has read everything. A log line, a metric and an Event on the Secret
// tell of it.
//
// Credentials come from the Secret only: a kubeconfig that would run a program or read a file
// of this host is refused, and so is one that leads through a proxy or to a path, unless
// [Options] allow it. API servers of other clusters are not trusted: see kube.UntrustedLimits.
//
// The destination role of the command makes one Set.
//
// # Concurrency
//
// A Set has one goroutine that decides which clusters there are, and one for each cluster. No
// cluster waits for another, and nothing waits for a cluster. Status and the metrics may be
// read from any goroutine.
package linked
