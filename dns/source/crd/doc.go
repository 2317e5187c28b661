// Package crd is the source "crd": the record sets of DNSEndpoint objects (spec/dns.md §6.8), in
// the group externaldns.k8s.io or one from flags. dns/plugins lists it.
//
// The record sets are in spec.endpoints. If some can't be used, the others still are. Annotations
// are ignored, including the one that leaves an object to another controller, but
// --annotation-filter selects objects as for other sources.
//
// [Config.WriteStatus] writes the observed generation and conditions into the status of each
// object. The source itself only reads; the leader runs WriteStatus beside it.
//
// # Concurrency
//
// See package source. WriteStatus may be called at any time after Open, but only once at a time.
package crd
