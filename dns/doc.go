// Package dns has the types of the records that Signpost publishes: [RecordSet], [Zone] and
// [Change], the comparison of names and targets, and the filters of names, targets and zones.
//
// All DNS packages exchange these types: the sources (dns/source) make record sets from objects,
// dns/plan compares them with a zone, dns/owner decides which process may change a name, the
// providers (dns/provider) call DNS servers and APIs, and dns/publisher runs them. The JSON form of
// record sets is that of ExternalDNS, which calls them endpoints.
//
// # Concurrency
//
// All types are plain values. A record set that was passed on is never changed; to change one, make
// a [RecordSet.Clone]. Filters and finders may be used from any goroutine.
package dns
