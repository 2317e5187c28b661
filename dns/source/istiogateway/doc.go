// Package istiogateway is the source "istio-gateway": records for the hosts of
// networking.istio.io/v1 Gateway objects (spec/dns.md §6.6).
//
// The hosts are those of the servers, without their namespaces, and those in the
// annotation hostname. They point to the addresses of the Services whose selector has all
// of the Gateway's: a change of such a Service evaluates those Gateways anew. Instead, the
// annotation target gives the targets, or the annotation ingress names an Ingress that has
// them; as long as there is no such Ingress, nobody knows what the Gateway asks for.
//
// dns/plugins registers it. The source keeps hosts, selectors and our annotations of each
// Gateway, and of Services and Ingresses their addresses; whole Gateways only for templates.
//
// # Concurrency
//
// As package source says.
package istiogateway
