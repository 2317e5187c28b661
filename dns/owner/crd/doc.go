// Package crd keeps ownership in the cluster: for each record set that is ours there is an
// object of the kind DNSRecord, and the zone has no ownership records (spec/dns.md §4.5). An
// [Owner] is made by package main for --registry=crd, and called by the publisher.
//
// The condition Ready of an object says what happened to its record: it is about to be written
// (False, Accepted), it was written (True, Programmed), or it couldn't be written (False,
// Failed). ExternalDNS takes the ready objects for the contents of the zone. Signpost lists
// the zone, and uses the objects only to know which of its records are ours. So it sees and
// corrects what others did to a record.
//
// With Ready alone, a record would have no owner if the process ended while it was being
// written, or if the provider failed with an unknown outcome; nobody would change it any more.
// So there is a second condition, Owned. It is True while the record in the zone is ours,
// Unknown if it is ours only in case it has what we were writing, and False if it can't be
// ours. Objects of ExternalDNS have no such condition; for them Ready counts.
//
// Read it in this order: owner.go, apply.go, object.go, client.go.
//
// # Concurrency
//
// All methods may be called from any goroutine. Those that talk to the API server wait for
// each other, and send a few requests at a time.
package crd
