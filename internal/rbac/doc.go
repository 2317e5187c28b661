// Package rbac says which rights in the cluster `signpost dns` needs, and writes them as roles of
// Kubernetes: [DNS] makes the roles for a config, of what the sources declare that they read.
//
// `signpost rbac` prints the roles for the flags that it gets, and deploy/rbac/dns.yaml has those
// for all sources.
//
// # Concurrency
//
// Everything here is pure.
package rbac
