package main

import (
	"os"
	"runtime/debug"
)

// writerGarbage is by how many percent the heap of a process that writes may grow
// before garbage is collected; the runtime's own figure is 100. A collection delays the writes
// that fall into it, and those are the slowest ones: with fewer of them, a process takes
// a little more memory.
const writerGarbage = 150

// relaxCollector has garbage collected less often, unless the environment says how often.
func relaxCollector() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(writerGarbage)
	}
}
