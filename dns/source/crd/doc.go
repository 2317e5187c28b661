// Package crd is the source "crd": the record sets that DNSEndpoint objects ask for
// (spec/dns.md §6.8), of the group externaldns.k8s.io or, by flags, of another.
//
// An object has its record sets in spec.endpoints. One of them that can't be used costs
// only itself. No annotation means anything, not even the one that leaves an object to
// another controller, but --annotation-filter selects objects as everywhere.
//
// dns/plugins registers it. The source keeps the record sets of each object that it is for.
//
// # Status
//
// [Config.WriteStatus] notes on each object which generation of it was read. The source
// itself only reads: whoever leads, and may write, has WriteStatus run beside it.
//
// # Concurrency
//
// As package source says. WriteStatus may run at any time after Open, once at a time.
package crd
