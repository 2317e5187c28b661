// Package events sends what happens to records as Kubernetes Events about the objects that
// asked for them, in the form of ExternalDNS (spec/dns.md §11): events.k8s.io/v1, one for
// each object.
//
// A [Sender] takes the notices of publishers and sends them one after the other, in the
// background and at a limited rate: Events are for people, and nothing waits for them. When
// too many are waiting, further ones are dropped and counted. Package main of the command
// makes one for each process and runs it.
//
// # Concurrency
//
// What For returns may be called from any goroutine. Run is called once.
package events
