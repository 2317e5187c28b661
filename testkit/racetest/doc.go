// Package racetest says whether tests run under the race detector. Tests ask it whose bounds or
// numbers of repetitions depend on that.
//
// # Concurrency
//
// It has a constant only.
package racetest
