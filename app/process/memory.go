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
	"github.com/signpostd/signpost/internal/pause"
)

// writerGCPercent is the GOGC percentage of a process with controllers; the runtime's default is
// 100. Most objects that are read at the start are kept, so collections free little.
const writerGCPercent = 200

// raiseGCPercent sets writerGCPercent in a process with controllers. GOGC in the environment
// overrides it. undo restores the former setting.
func raiseGCPercent(c settings.Config) (undo func()) {
	if _, set := os.LookupEnv("GOGC"); set || !c.RunsControllers {
		return func() {}
	}
	before := debug.SetGCPercent(writerGCPercent)
	return func() { debug.SetGCPercent(before) }
}

// heapShare is the Go runtime's share of the memory limit. The rest is for memory that the runtime
// doesn't count, and for collections that end late.
const heapShare = 0.9

// limitMemory sets the runtime's memory limit from allowed, the limit of the cgroup. Near the limit
// garbage is collected more often, so that the process isn't killed while it fills its tables or in
// a burst. GOMEMLIMIT in the environment overrides it. undo restores the former limit.
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
	log.Info("Limited the heap by the memory limit of the cgroup", "bytes", bytes, "heap", limit)
	return func() { debug.SetMemoryLimit(before) }
}

// releaseDelay is how long after the first sync memory is returned to the OS. The roles have
// processed the objects by then.
const releaseDelay = 10 * time.Second

// releaseAfter calls release once, some time after the tables are filled, and then waits for the
// end of ctx, because an actor that returns stops the process. Filling the tables takes up to twice
// the memory that they need later (decision 0049). The runtime would keep most of it, because it
// only releases memory beyond the next heap goal, which is twice the live heap.
func releaseAfter(ctx context.Context, settled <-chan struct{}, delay time.Duration, release func()) error {
	select {
	case <-settled:
	case <-ctx.Done():
		return nil
	}
	if pause.For(ctx, delay) == nil {
		release()
		<-ctx.Done()
	}
	return nil
}
