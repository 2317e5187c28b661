// Package ownertest is the conformance kit of registries: [Run] runs the same scenarios for each. In a
// scenario, a zone in memory is shared by processes that list, plan and write as the publisher does, by a
// provider that refuses changes, loses its response or crashes in between, and by another writer. The kit
// then checks ownership: no record of others may become ours, and none of ours may lose its owner. Each
// registry has a test that calls the kit.
//
// # Concurrency
//
// Nothing here runs concurrently.
package ownertest
