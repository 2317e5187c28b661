// Package istio has what the sources for objects of Istio share: where the targets of a Gateway
// come from (spec/dns.md §6.6).
//
// The targets of a Gateway are those of its annotation target, or the addresses of the Ingress
// that its annotation ingress names, or those of the Services whose selector contains the
// selector of the Gateway. A source keeps an [Exposure] of each Gateway, in a table with the
// indexes of [Indexes]. [Watch] makes the tables of Services and Ingresses, and calls the source
// for the Gateways that a change concerns: an index finds them.
//
// The sources istio-gateway and istio-virtualservice use it.
//
// # Concurrency
//
// See package source.
package istio
