// Package istiogateway is the source "istio-gateway": records for the hosts of
// networking.istio.io/v1 Gateway objects (spec/dns.md §6.6).
//
// The names are the hosts of the servers, without their namespaces, and those in the
// annotation hostname. The targets are the addresses of the Services whose selector contains
// the selector of the Gateway. When such a Service changes, the Gateways are evaluated again.
// Instead, the annotation target can have the targets, or the annotation ingress can name an
// Ingress that has them. If there is no such Ingress, evaluating the Gateway is an error.
//
// dns/plugins registers it. The source keeps the hosts, selectors and annotations about
// records of Gateways, and the addresses of Services and Ingresses; whole Gateways only for
// templates.
//
// # Concurrency
//
// See package source.
package istiogateway
