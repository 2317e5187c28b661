// Package crd is the source "crd": the record sets in DNSEndpoint objects (spec/dns.md §6.8),
// of the group externaldns.k8s.io or of another one that flags name.
//
// The record sets of an object are in its field spec.endpoints. If one of them can't be used,
// the others are. Annotations have no meaning, not even the one that leaves an object to
// another controller, but --annotation-filter selects objects as for other sources.
// dns/plugins registers the source.
//
// [Config.WriteStatus] writes into the status of each object which generation of it was read.
// The source itself only reads; the process that leads, and may write, runs WriteStatus beside
// it.
//
// # Concurrency
//
// See package source. WriteStatus may be called at any time after Open, but only once at a
// time.
package crd
