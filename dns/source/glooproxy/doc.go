// Package glooproxy is the source "gloo-proxy": records for the domains of gloo.solo.io/v1 Proxy
// objects (spec/dns.md §6.11). dns/plugins lists it.
//
// Gloo makes a Proxy from Gateways and VirtualServices of gateway.solo.io/v1.
//
//   - Names: the domains of the virtual hosts of HTTP and aggregate listeners.
//   - TTL and provider settings: the annotations of the VirtualServices behind a virtual host.
//   - Targets: the annotation target of the Proxy, or the addresses of the Ingresses in the
//     annotation ingress of its Gateways, or the load balancer addresses of the Service with the
//     name of the Proxy.
//
// If one of these objects is missing, evaluating the Proxy is an error. Indexes lead from each of
// these objects to the Proxies that depend on it.
//
// The source keeps domains and references of Proxies in the namespaces of Gloo, the annotations
// about records of VirtualServices and Gateways, and the addresses of Services and Ingresses; whole
// Proxies only for templates.
package glooproxy
