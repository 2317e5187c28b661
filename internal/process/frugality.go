package process

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/internal/settings"
)

// writerGarbage is by how many percent the heap of a process that writes may grow before
// garbage is collected; the runtime's default is 100. A collection delays the writes during
// it, and those are the slowest of all. Fewer collections cost a little memory.
const writerGarbage = 200

// loadingGarbage is the same until the tables are filled for the first time. Most of what is
// read until then is kept, so there is little to collect, and a heap that begins small would
// be marked again and again.
const loadingGarbage = 1000

// loadedGarbage is by how many percent the heap may grow, from its size when the tables are
// filled, before garbage is collected for the first time after that.
const loadedGarbage = 75

// writerCores is how many cores a process uses that does nothing but write. Most of the time
// it waits for the API server, and waking one thread after another on several cores costs more
// than it gains.
const writerCores = 1

// beFrugal makes the runtime use less CPU in a process that writes, and still less in one that
// does nothing else. GOGC and GOMAXPROCS in the environment override it. The function that it
// returns restores what was there before.
func beFrugal(c settings.Config) (undo func()) {
	if !c.RunsControllers {
		return func() {}
	}
	garbage := setGarbage(loadingGarbage)
	_, set := os.LookupEnv("GOMAXPROCS")
	if set || c.RunsDestination || c.RunsDNS || runtime.GOMAXPROCS(0) <= writerCores {
		return func() { setGarbage(garbage) }
	}
	cores := runtime.GOMAXPROCS(writerCores)
	return func() {
		setGarbage(garbage)
		runtime.GOMAXPROCS(cores)
	}
}

// setGarbage sets by how many percent the heap may grow, unless the environment does, and
// returns what was set before.
func setGarbage(percent int) (before int) {
	if _, set := os.LookupEnv("GOGC"); set {
		return percent
	}
	return debug.SetGCPercent(percent)
}

// collectorActor sets the garbage collector for a writer once the tables are filled.
func collectorActor(settled <-chan struct{}) run.Actor {
	return run.Actor{Name: "garbage collector", Run: func(ctx context.Context) error {
		var collected <-chan struct{}
		for {
			select {
			case <-settled:
				settled, collected = nil, nextCollection()
				setGarbage(loadedPercent(heap()))
			case <-collected:
				collected = nil
				setGarbage(writerGarbage)
			case <-ctx.Done():
				return nil
			}
		}
	}}
}

// nextCollection returns a channel that is closed once garbage has been collected.
func nextCollection() <-chan struct{} {
	collected := make(chan struct{})
	// A smaller object might share a block of memory with one that is kept.
	runtime.AddCleanup(new([64]byte), func(c chan struct{}) { close(c) }, collected)
	return collected
}

// heap returns two sizes in bytes: what the last collection found to be live, and all that is
// on the heap now.
func heap() (live, all uint64) {
	sizes := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sizes)
	return sizes[0].Value.Uint64(), sizes[1].Value.Uint64()
}

// loadedPercent converts loadedGarbage, a percentage of the heap that is there now, into one of
// what the last collection found to be live, which is what the runtime wants. That collection
// came before most was read.
func loadedPercent(live, all uint64) int {
	if live == 0 {
		return writerGarbage // nothing was collected yet
	}
	return int(max(all, live)*(100+loadedGarbage)/live) - 100
}
