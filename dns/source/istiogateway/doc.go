// Package istiogateway is the source "istio-gateway": records for the hosts of
// networking.istio.io/v1 Gateway objects (spec/dns.md §6.6). dns/plugins lists it.
//
// The names are the hosts of the servers, without their namespaces, and those of the annotation
// hostname. The targets are the addresses of the Services whose selector contains the selector of
// the Gateway. When such a Service changes, the Gateways are evaluated again. The annotation
// target, or an Ingress in the annotation ingress, overrides these targets. If that Ingress doesn't
// exist, evaluating the Gateway is an error.
//
// The source keeps the hosts, selectors and annotations about records of Gateways, and the
// addresses of Services and Ingresses; whole Gateways only for templates.
package istiogateway
