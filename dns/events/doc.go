// Package events sends Kubernetes Events about records to the objects that ask for them, in the
// form of ExternalDNS (spec/dns.md §11): events.k8s.io/v1, one Event per object.
//
// A repeated Event increases the count of the existing one, also across processes (package
// eventsink). A problem is reported again only after some minutes.
//
// Package process creates one [Sender] and runs it. A Sender takes the notices of publishers and
// sends Events in the background, one at a time and at a limited rate. Publishers never wait for
// it. If the queue is full, Events are dropped and counted.
//
// # Concurrency
//
// The function that For returns may be called from any goroutine. Run is called once.
package events
