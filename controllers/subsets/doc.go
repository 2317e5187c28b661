// Package subsets packs, sorts, truncates and compares the subsets of core/v1 Endpoints. Package endpoints
// writes Endpoints in its canonical form, and package mirroring converts hand-written Endpoints to it.
//
// A subset denotes every pair of one of its addresses and one of its ports, so the same pairs can be written
// in many ways. [Canonical] chooses one of them: the fewest subsets, in an order that depends on the content
// alone.
//
// # Concurrency
//
// All functions are pure and may be called from any goroutine. Results may share addresses with arguments, so
// neither may be changed afterwards.
package subsets
