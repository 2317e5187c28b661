// Package objectserver is an API server in the memory of a process. It takes objects of any kind,
// and serves the watches from which package kube fills tables.
//
// It serves nothing else: no single objects, no metadata alone, no writes, no discovery. A watch
// begins with the objects that exist; then come their changes. The kinds that are built into
// Kubernetes are served as protobuf or JSON, others as JSON. Other kinds have to be named to
// [New], because a path has the name of the resource and not that of the kind, or their resources
// to [Server.ServeResources].
//
// `signpost plan` serves manifests with it in the place of a cluster, and package
// testkit/sourcetest the objects of tests. Both use [Server.Config], which needs no port.
//
// # Concurrency
//
// The methods of a Server may be called from any goroutine. A slow reader delays nobody: the
// server keeps what it hasn't read yet.
package objectserver
