// Package glooproxy is the source "gloo-proxy": records for the domains of gloo.solo.io/v1 Proxy
// objects (spec/dns.md §6.11).
//
// Gloo makes a Proxy of Gateways and VirtualServices of gateway.solo.io/v1. The names are the
// domains of the virtual hosts of its HTTP and aggregate listeners. Their TTL and settings for
// providers are in the annotations of the VirtualServices that a virtual host was made of. The
// targets are those of the annotation target of the Proxy, or the addresses of the Ingresses that
// the annotation ingress of its Gateways names, or those of the load balancer of the Service with
// the name of the Proxy. If one of these objects is missing, evaluating the Proxy is an error.
//
// Indexes lead from each of these objects to the Proxies that depend on it.
//
// dns/plugins registers it. The source keeps domains and references of Proxies in the namespaces
// of Gloo, the annotations about records of VirtualServices and Gateways, and the addresses of
// Services and Ingresses; whole Proxies only for templates. Files: glooproxy.go, evaluate.go,
// objects.go.
//
// # Concurrency
//
// See package source.
package glooproxy
