// Package longtest bounds the repetitions of random tests, fault schedules and leak tests.
//
// `make test` passes -short to go test, so that a change is tested in minutes. `make test-long` and the nightly
// workflow run all repetitions, and tests that are long by nature. pgregory.net/rapid does the same with its own
// checks.
//
// # Concurrency
//
// The package has no state.
package longtest

import "testing"

// shortPart is the part of the repetitions that -short keeps: one of shortPart.
const shortPart = 5

// Rounds returns the number of repetitions of a test that has n by default: n, or a fifth of it with -short.
func Rounds(n int) int {
	if testing.Short() && n > 1 {
		return max(2, n/shortPart)
	}
	return n
}

// Only skips a test with -short, because it takes long by nature: a run of the lab, or a schedule of faults.
func Only(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long: make test-long runs it")
	}
}
