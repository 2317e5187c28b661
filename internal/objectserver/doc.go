// Package objectserver is an in-memory API server for objects of any kind, which serves the watches from
// which package kube fills tables. `signpost plan` serves manifests with it instead of a cluster, and
// testkit/sourcetest the objects of tests. Both use [Server.Config], which needs no port.
//
// The server serves watches only: no single objects, no metadata alone, no writes, no discovery. A watch
// starts with the existing objects; their changes follow. Built-in kinds of Kubernetes are served as protobuf
// or JSON, others as JSON. Other kinds must be passed to [New], because a URL has the name of the resource
// and not the kind, or their resources to [Server.ServeResources].
//
// # Concurrency
//
// The methods of a Server may be called from any goroutine. A slow reader delays no other, because the server
// buffers its events.
package objectserver
