// Package providertest is the conformance kit of the providers of records: [Run] checks
// that a provider does what [provider.Provider] promises. The test of each provider calls it,
// against the real server where there is one.
//
// Most checks are lists of states that a zone is to have one after the other. For each
// the kit works out the changes the way a plan does, gives them to Apply in one call, and
// compares what Records returns then with what Adjust said it would: no more, no less,
// with nothing else in the zone touched. Where the test has an independent way to read
// the zone, such as [DNS], the records that clients see are compared too; and where it
// can open the provider once more, so is what a new process reads. Other checks are
// about errors, dry runs, cancelled contexts, and random changes.
//
// The kit calls a provider from one goroutine at a time, as the publisher does with a
// zone, and runs no two checks at once.
package providertest
