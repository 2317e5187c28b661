// Package crd keeps ownership in the cluster: for each record set that is ours there is an
// object of the kind DNSRecord, and the zone holds nothing but records (spec/dns.md §4.5).
// An [Owner] is made by the command for --registry=crd and called by the publisher.
//
// What an object says is what happened to its record: that it is about to be written
// (condition Ready is False, Accepted), that it was (True, Programmed), that it couldn't be
// (False, Failed). ExternalDNS takes the ready objects for the zone. Here the zone is
// listed, and the objects say only which of its records are ours: what others did to a
// record is seen and put right.
//
// A record that was being written when the process ended, or of which the provider didn't
// say what became of it, would be nobody's by that rule, and nobody would touch it any
// more. So there is a second condition, Owned: True while the record that is there is ours,
// Unknown while it is if it has what we were writing, False if it can't be. Objects of
// ExternalDNS don't have it, and count as said above.
//
// # Concurrency
//
// All methods may be called from any goroutine; those that talk to the API server wait for
// each other, and send a few requests at a time.
package crd
