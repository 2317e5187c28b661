// Package crd keeps claims of record sets as objects of the kind DNSRecord in the cluster, so the
// zones need no ownership records (spec/dns.md §4.5). Package configure calls [New], whose result
// is an Owner of package claims.
//
// The condition Ready of an object is the state of its record: about to be written (False,
// Accepted), written (True, Programmed), or failed (False, Failed). ExternalDNS takes the ready
// objects for the content of the zone. Signpost lists the zone, and uses the objects only to know
// which of its records are ours. So Signpost detects and corrects external changes.
//
// A ready object is a confirmed claim. For other objects the annotation [AnnotationClaim] has the
// state; without it, the object claims nothing, as for ExternalDNS. The annotation is written
// together with the object, so that it exists even if the status couldn't be written.
//
// # Concurrency
//
// The owner calls the store from one goroutine at a time. The store sends several requests in
// parallel.
package crd
