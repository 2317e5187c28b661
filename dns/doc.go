// Package dns is the vocabulary of the records that Signpost publishes: what a
// [RecordSet], a [Zone] and a [Change] are, how names are compared, and which names and
// targets a user wants managed.
//
// Everything is a plain value. The sources (dns/source) make record sets of objects,
// dns/plan compares them with what is there, dns/owner says who may touch a name, the
// providers (dns/provider) talk to DNS servers and their APIs, and dns/publisher runs
// it all; they meet in the types of this package. The format of record sets in JSON is
// that of ExternalDNS, which calls them endpoints.
//
// # Concurrency
//
// A record set that was handed to anybody is not changed any more: who wants another
// one makes a [RecordSet.Clone]. Filters and finders may be used from any goroutine.
package dns
