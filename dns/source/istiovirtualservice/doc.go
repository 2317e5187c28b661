// Package istiovirtualservice is the source "istio-virtualservice": records for the hosts of
// networking.istio.io/v1 VirtualService objects (spec/dns.md §6.6).
//
// The names are spec.hosts, without their namespaces, and those in the annotation hostname. Each
// name has the targets of the Gateways of spec.gateways that serve it: a server of the Gateway
// has the name, or a wildcard above it, and both objects admit the namespace of the other.
// Instead, the annotation target can have the targets. A Gateway that doesn't exist is a problem
// of the VirtualService, which has the targets of the others.
//
// When a Gateway changes, or a Service or an Ingress that it has its targets from, then the
// VirtualServices that name the Gateway are evaluated again, and no others: indexes find them.
//
// dns/plugins registers it. The source keeps the hosts, references and annotations about records
// of VirtualServices, and of Gateways and others what the targets depend on; whole
// VirtualServices only for templates. Files: istiovirtualservice.go, objects.go, binding.go.
//
// # Concurrency
//
// See package source.
package istiovirtualservice
