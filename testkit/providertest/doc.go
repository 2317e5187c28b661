// Package providertest is the conformance kit of providers: [Run] checks that a provider does
// what [provider.Provider] promises. Each provider has a test that calls it, against a real
// server where there is one.
//
// Most checks are lists of states that a zone takes on one after the other. For each state the
// kit works out the changes as a plan does, gives them to Apply in one call, and compares what
// Records returns then with what Adjust announced. Nothing else in the zone may change. If the
// test has an independent way to read the zone, such as [DNS], the kit also compares the
// records that clients see. If the test can open the provider again, the kit also compares
// what a new process reads. Other checks are about errors, dry runs, cancelled contexts, a
// person who changes the zone in between, two writers at once, throttling, child zones, twins,
// what Capabilities promises, and random changes.
//
// Read it in this order: options.go, run.go, states.go, scenarios.go, stale.go, contract.go, random.go; zone.go,
// compare.go and lookup.go do the work of a check; main.go is for TestMain.
//
// # Concurrency
//
// The kit calls a provider from one goroutine at a time, except where two writers meet, and runs
// no two checks at once.
package providertest
