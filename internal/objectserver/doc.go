// Package objectserver is an API server that lives in the memory of a process: it is given
// objects of any kind and serves the watches that package kube fills its tables from.
//
// It answers nothing else: no single objects, no metadata alone, no writes, no discovery. A watch begins with
// the objects there are, then come their changes. The kinds built into Kubernetes are
// served as protobuf or JSON, others as JSON; those have to be named to [New], because no
// path says what the kind is called whose objects are under it.
//
// `signpost plan` serves manifests with it in the place of a cluster, and package
// dns/sourcetest the objects of tests. Both use [Server.Config], which needs no port.
//
// # Concurrency
//
// The methods of a Server may be called from any goroutine. A reader that is slow holds
// up nobody: what it hasn't read yet is kept.
package objectserver
