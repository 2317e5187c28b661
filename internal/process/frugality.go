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

// writerGarbage is by how many percent the heap of a process that writes may grow
// before garbage is collected; the runtime's own figure is 100. A collection delays the writes
// that fall into it, and those are the slowest ones: with fewer of them, a process takes
// a little more memory.
const writerGarbage = 200

// loadingGarbage is the same until the tables are filled for the first time: what is
// read then is mostly kept, so that there is little to collect, and a heap that begins small
// would be looked through again and again.
const loadingGarbage = 1000

// loadedGarbage is by how many percent the heap may grow beyond what it is when the tables are
// filled, until garbage is collected for the first time.
const loadedGarbage = 75

// writerCores is how many cores a process uses that does nothing but write. It waits for
// the API server most of the time, and what wakes one thread after the other on several cores
// costs more than it gains.
const writerCores = 1

// beFrugal makes the runtime take less CPU in a process that writes, and least in one that
// does nothing else, as far as the environment doesn't say otherwise. The function that
// it returns undoes that.
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

// setGarbage says by how many percent the heap may grow, unless the environment does. It
// returns what held before.
func setGarbage(percent int) (before int) {
	if _, set := os.LookupEnv("GOGC"); set {
		return percent
	}
	return debug.SetGCPercent(percent)
}

// collectorActor has garbage collected as a writer needs it once the tables are filled.
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
	// Something smaller might share its memory with what is kept.
	runtime.AddCleanup(new([64]byte), func(c chan struct{}) { close(c) }, collected)
	return collected
}

// heap returns the size of what was found to live when garbage was collected last, and that of
// all that is there now, in bytes.
func heap() (live, all uint64) {
	sizes := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sizes)
	return sizes[0].Value.Uint64(), sizes[1].Value.Uint64()
}

// loadedPercent returns loadedGarbage as the runtime understands it: in percent of what was
// found to live, which was before most was read.
func loadedPercent(live, all uint64) int {
	if live == 0 {
		return writerGarbage // nothing was collected yet
	}
	return int(max(all, live)*(100+loadedGarbage)/live) - 100
}
