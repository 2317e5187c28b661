// Package istiovirtualservice is the source "istio-virtualservice": records for the hosts of
// networking.istio.io/v1 VirtualService objects (spec/dns.md §6.6). dns/plugins lists it.
//
// The names are spec.hosts, without their namespaces, and those of the annotation hostname. Each
// name has the targets of the Gateways of spec.gateways that serve it: a server of the Gateway has
// the name, or a wildcard above it, and both objects admit the namespace of the other. The
// annotation target overrides these targets. A missing Gateway is a problem of the VirtualService,
// which keeps the targets of the others.
//
// When a Gateway changes, or a Service or Ingress with its targets, the VirtualServices of the
// Gateway, found by indexes, are evaluated again.
//
// The source keeps the hosts, references and annotations about records of VirtualServices, and the
// parts of Gateways and others that targets depend on; whole VirtualServices only for templates.
package istiovirtualservice
