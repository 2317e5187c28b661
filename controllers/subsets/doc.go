// Package subsets packs, orders, shortens and compares the subsets of core/v1 Endpoints.
//
// A subset denotes every pair of one of its addresses and one of its ports, so that the same
// pairs can be written in many ways. [Canonical] chooses one of them: fewest subsets, in an
// order that depends on the content alone. Package endpoints writes Endpoints in this form,
// and package mirroring brings Endpoints that people wrote into it.
//
// In reading order: pack.go is Canonical; digest.go is its order of ports and subsets;
// truncate.go leaves addresses out, equal.go compares, and ip.go reads IPs.
//
// # Concurrency
//
// All functions are pure and may be called from any goroutine. What they return may share
// addresses with what was passed, so that neither may be changed afterwards.
package subsets
