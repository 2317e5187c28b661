// Package node is the source "node": records for core/v1 Nodes (spec/dns.md §6.11). dns/plugins
// lists it.
//
// The name is that of the Node, unless a template gives others. The targets are the external
// addresses of the Node, or the internal ones if it has no other, or those of the annotation
// target. A Node without an address has a problem. --namespace doesn't apply, because Nodes have no
// namespace.
package node
