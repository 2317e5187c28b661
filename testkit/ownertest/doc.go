// Package ownertest is the conformance kit of owners: [Run] has each one go through the same
// scenarios. In them, processes that list, plan and write as the publisher does, a provider that
// refuses, loses its answer or stops in between, and a person share a zone in memory. The
// scenarios ask whose the records are then: nobody's record may become ours, and none of ours may
// become nobody's. Each owner has a test that calls the kit.
//
// Read it in this order: options.go, process.go, scenarios.go, claims.go.
//
// # Concurrency
//
// Nothing here runs at the same time as something else.
package ownertest
