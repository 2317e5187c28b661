// Package providertest is the conformance kit of providers: [Run] checks that a provider fulfils
// [provider.Provider]. Each provider has a test that calls it, against a real server if there is one.
//
// Most checks are lists of states that a zone takes one after the other. For each state the kit plans the
// changes, passes them to Apply in one call, and compares Records with what Adjust announced. Nothing else in
// the zone may change. If the test has an independent way to read the zone, such as [DNS], the kit also
// compares the records that clients see. If the test can reopen the provider, the kit also compares what a
// new process reads.
//
// Other checks are about errors, dry runs, cancelled contexts, external changes in between, two concurrent
// writers, throttling, child zones, twin zones, the promises of Capabilities, type changes, and random
// changes.
//
// # Concurrency
//
// The kit calls a provider from one goroutine at a time, except in the check with two writers, and runs no
// two checks at once.
package providertest
