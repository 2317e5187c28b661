//go:build race

package publisher

// underRace is true if the race detector is on, which makes tests about ten times slower.
const underRace = true
