// Package dns is the vocabulary of the records that Signpost publishes: what a [RecordSet], a
// [Zone] and a [Change] are, how names are compared, and which names and targets a user wants
// managed.
//
// Everything is a plain value. The sources (dns/source) make record sets of objects, dns/plan
// compares them with what a zone has, dns/owner says who may change a name, the providers
// (dns/provider) talk to DNS servers and their APIs, and dns/publisher runs it all. They
// exchange the types of this package. The JSON form of record sets is that of ExternalDNS,
// which calls them endpoints.
//
// Read it in this order: recordset.go, properties.go, zone.go and change.go have the types;
// name.go, targets.go, normal.go and check.go say when two of them are equal, and which are
// valid; merge.go puts record sets together; filter.go, domainfilter.go, targetfilter.go,
// zonefilter.go and zonefinder.go choose among names, targets and zones. suffixtree.go,
// reverse.go, ttl.go, characterstring.go and changelists.go are read when they are needed.
//
// # Concurrency
//
// A record set that was handed to somebody else is never changed. To change one,
// make a [RecordSet.Clone]. Filters and finders may be used from any goroutine.
package dns
