// Package subsets packs, orders, shortens and compares the subsets of
// core/v1 Endpoints.
//
// A subset denotes every pair of one of its addresses and one of its ports, so
// that the same pairs can be written in many ways. [Canonical] chooses one of
// them: fewest subsets, in an order that depends on the content alone. Package
// endpoints writes Endpoints in this form, and the mirroring of Endpoints that
// people write reads them in it.
//
// # Concurrency
//
// All functions are pure: they keep nothing, and change nothing that is passed
// to them. What they return may share addresses with what was passed, so that
// neither may be changed afterwards. They may be called from any goroutine.
package subsets
