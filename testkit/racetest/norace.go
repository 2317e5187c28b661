//go:build !race

package racetest

// Enabled is true if the race detector is on: tests take about ten times as long, and stacks are
// twice as large.
const Enabled = false
