// Package istio is the common part of the sources istio-gateway and istio-virtualservice: the
// targets of a Gateway (spec/dns.md §6.6).
//
// They are those of its annotation target, or the addresses of the Ingress in its annotation
// ingress, or those of the Services whose selector contains the selector of the Gateway. A source
// keeps an [Exposure] of each Gateway, in a table with the indexes of [Indexes]. [Watch] creates
// the tables of Services and Ingresses, and calls the source for the Gateways that a change
// affects.
package istio
