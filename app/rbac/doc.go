// Package rbac says which rights in the cluster the roles of a process need, and writes them as
// roles of Kubernetes. It has no lists of its own: [Destination] and [Controllers] ask the tables
// that these roles fill and the controllers for their rights, and [DNS] asks the sources.
//
// `signpost rbac` prints the roles of signpost dns for the flags that it gets, deploy/rbac has
// those for everything, and `signpost check` asks an API server whether they are granted.
//
// Read it in this order: rbac.go, add.go, roles.go, dns.go.
//
// # Concurrency
//
// Everything here is pure.
package rbac
