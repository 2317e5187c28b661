// Package crd keeps claims of record sets in the cluster: each is an object of the kind DNSRecord,
// and the zone has no ownership records (spec/dns.md §4.5). [New] returns the owner; the claims
// themselves are those of package claims.
//
// The condition Ready of an object says what happened to its record: it is about to be written
// (False, Accepted), it was written (True, Programmed), or it couldn't be written (False,
// Failed). ExternalDNS takes the ready objects for the contents of the zone. Signpost lists
// the zone, and uses the objects only to know which of its records are ours. So it sees and
// corrects what others did to a record.
//
// An object that is ready is a confirmed claim. What one is that isn't ready says the annotation
// [AnnotationClaim]; without it, the object claims nothing, as for ExternalDNS. The annotation is
// written together with the object, so that it is there even if the status couldn't be written.
//
// Read it in this order: owner.go, store.go, object.go, client.go.
//
// # Concurrency
//
// The owner calls the store from one goroutine at a time. The store sends a few requests at a
// time.
package crd
