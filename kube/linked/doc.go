// Package linked follows the clusters that are linked to our own, as inputs of one
// catalog.
//
// A link is a Secret of the control plane's namespace (spec/destination.md §4) with
// the name and the domains of a cluster and a kubeconfig for it. [Set] reads those
// Secrets and keeps a kube.Cluster for each link, which feeds the catalog as the one of our
// own does. A Secret may be added, completed later, changed or deleted at any time.
//
// Each cluster is on its own: it is connecting until everything has been read once,
// then synced, and stale while it can't be read; what is known of it stays then, and
// it is tried again for ever. Only when its Secret goes, it is forgotten. A Secret
// that can't be used changes nothing: if it could be used before, that stays in force. Both
// are told by a log line, a metric and an Event on the Secret.
//
// Credentials come from the Secret alone: a kubeconfig that would run a program or read
// a file of this host is refused.
//
// The destination role of the command makes one Set.
//
// # Concurrency
//
// A Set has one goroutine that decides which clusters there are, and one for each
// cluster. No cluster waits for another, and nothing waits for a cluster. Status and
// the metrics may be asked for from any goroutine.
package linked
