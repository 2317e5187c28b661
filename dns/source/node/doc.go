// Package node is the source "node": records for core/v1 Nodes (spec/dns.md §6.11).
//
// The name is that of the Node, unless a template gives others; it points to the external
// addresses of the Node, else to the internal ones, or to those in the annotation target.
// A Node that has no address costs only itself: it is a problem of that object.
//
// dns/plugins registers it. --namespace doesn't apply, as Nodes belong to none.
//
// # Concurrency
//
// As package source says.
package node
