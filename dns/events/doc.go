// Package events sends what happens to records as Kubernetes Events about the objects that ask
// for them, in the form of ExternalDNS (spec/dns.md §11): events.k8s.io/v1, one Event for each
// object. What is said again is counted in the Event that is there, also that of another process (package eventsink); about
// a problem nothing is said again for some minutes.
//
// A [Sender] takes the notices of publishers and sends them in the background, one after the
// other and at a limited rate. Nothing waits for Events, because only people read them. When
// too many are waiting, further ones are dropped and counted. Package main makes one Sender
// for each process and runs it.
//
// # Concurrency
//
// The function that For returns may be called from any goroutine. Run is called once.
package events
