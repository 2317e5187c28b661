// Package longtest bounds the repetitions of random tests, fault schedules and leak tests.
//
// `make test` passes -short to go test, so that a change is tested in minutes. `make test-long` and
// the nightly workflow run all repetitions, and tests that are long by nature. pgregory.net/rapid
// does the same with its own checks.
//
// # Concurrency
//
// The package has no state.
package longtest

import "testing"

// The parts of the repetitions that -short keeps: one of so many.
const (
	shortPart       = 5
	shortPartCostly = 20
)

// Rounds returns the number of repetitions of a test that has n by default: n, or a fifth of it with -short.
func Rounds(n int) int { return rounds(n, shortPart) }

// CostlyRounds is Rounds for a test of which a fifth still takes seconds: -short keeps a twentieth.
func CostlyRounds(n int) int { return rounds(n, shortPartCostly) }

// Only skips a test with -short. The reason says why it takes long, or where its behavior is tested
// nevertheless.
func Only(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() {
		t.Skip("only in make test-long: " + reason)
	}
}

func rounds(n, part int) int {
	if testing.Short() && n > 1 {
		return max(2, n/part)
	}
	return n
}
