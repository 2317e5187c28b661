//go:build !race

package process

// underRace is true if the race detector is on, which doubles the stacks.
const underRace = false
