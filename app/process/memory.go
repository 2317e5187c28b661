package process

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/signpostd/signpost/app/settings"
)

// writerGarbage is by how many percent the heap of a process that writes may grow before garbage
// is collected; the runtime's default is 100. Most of what is read at the start is kept, so that
// collections find little.
const writerGarbage = 200

// collectLess lets the heap of a process that writes grow more. GOGC in the environment overrides
// it. The function that it returns restores what was there before.
func collectLess(c settings.Config) (undo func()) {
	if _, set := os.LookupEnv("GOGC"); set || !c.RunsControllers {
		return func() {}
	}
	before := debug.SetGCPercent(writerGarbage)
	return func() { debug.SetGCPercent(before) }
}

// heapShare is how much of the memory that the process may have is for the Go runtime. The rest
// is for what the runtime doesn't count, and for being late.
const heapShare = 0.9

// limitMemory tells the runtime how much memory there is, by what the function allowed returns:
// the limit of the cgroup. Near it garbage is collected more often, so that filling the tables,
// or a burst, isn't what gets the process killed. GOMEMLIMIT in the environment overrides it. The
// function that it returns restores what was there before.
func limitMemory(log *slog.Logger, allowed func() (uint64, error)) (undo func()) {
	if _, set := os.LookupEnv("GOMEMLIMIT"); set {
		return func() {}
	}
	bytes, err := allowed()
	switch {
	case errors.Is(err, memlimit.ErrNoLimit), errors.Is(err, memlimit.ErrNoCgroup), errors.Is(err, memlimit.ErrCgroupsNotSupported), err == nil && (bytes == 0 || bytes > math.MaxInt64):
		return func() {}
	case err != nil:
		log.Warn("The memory limit of the cgroup can't be read; set GOMEMLIMIT if there is one", "err", err)
		return func() {}
	}
	limit := int64(float64(bytes) * heapShare)
	before := debug.SetMemoryLimit(limit)
	log.Info("The memory limit of the cgroup is taken into account", "bytes", bytes, "heap", limit)
	return func() { debug.SetMemoryLimit(before) }
}

// releaseDelay is how long after the first sync memory is given back. What roles do first with what
// was read is over by then.
const releaseDelay = 10 * time.Second

// releaseAfter calls release once, some time after the tables are filled, and then waits for the
// end of ctx, because an actor that returns stops the process. Filling the tables takes up to twice
// the memory that they need later (decision 0049). The runtime would keep most of it: it gives back
// what exceeds the next goal of its heap, and the goal is twice of what was found alive last.
func releaseAfter(ctx context.Context, settled <-chan struct{}, delay time.Duration, release func()) error {
	select {
	case <-settled:
	case <-ctx.Done():
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		release()
		<-ctx.Done()
	case <-ctx.Done():
	}
	return nil
}
