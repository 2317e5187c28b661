package process

import (
	"context"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"time"
)

const (
	// stormInterval is how often the opened streams are counted. stormStreams in that time are a
	// reconnect storm: the proxies of a replica that died.
	stormInterval = 200 * time.Millisecond
	stormStreams  = 100
	// stormCalm is how long no storm must be seen before garbage is collected as usual again.
	stormCalm = 2 * time.Second
	// stormGarbage is the growth of the heap, in percent, before garbage is collected during a storm.
	// With more, the peak of 20,000 streams that reconnect beside 100,000 pods exceeds 1.2 GiB.
	stormGarbage = 190
)

// mayCollectLater reports whether garbage collection may be delayed during a storm: there is a
// memory limit, which the runtime keeps regardless of stormGarbage, and the user has not set GOGC.
func mayCollectLater() bool {
	_, set := os.LookupEnv("GOGC")
	return !set && debug.SetMemoryLimit(-1) < math.MaxInt64
}

// delayCollection delays garbage collection during a reconnect storm, until ctx ends (decision
// 0055). A collection takes all idle cores, and a storm would cause several of them, one for each
// doubling of the heap; updates of all other streams would wait. opened returns the number of
// streams opened so far. setPercent is debug.SetGCPercent.
func delayCollection(ctx context.Context, log *slog.Logger, opened func() uint64, setPercent func(int) int) error {
	ticker := time.NewTicker(stormInterval)
	defer ticker.Stop()
	last, usual, calm := opened(), 0, time.Time{} // calm is zero, unless garbage waits
	for {
		select {
		case <-ctx.Done():
			if !calm.IsZero() {
				setPercent(usual)
			}
			return nil
		case now := <-ticker.C:
			n := opened()
			switch comes := n-last >= stormStreams; {
			case comes && calm.IsZero():
				usual = setPercent(stormGarbage)
				log.Debug("Delaying garbage collection during a reconnect storm", "streams", n-last)
				fallthrough
			case comes:
				calm = now.Add(stormCalm)
			case !calm.IsZero() && !now.Before(calm):
				setPercent(usual)
				calm = time.Time{}
				log.Debug("The reconnect storm has ended; garbage is collected as usual")
			}
			last = n
		}
	}
}

// whileLimited is delayCollection if collection may be delayed. Otherwise it waits for the end of
// ctx, because an actor that returns stops the process.
func whileLimited(ctx context.Context, log *slog.Logger, opened func() uint64) error {
	if !mayCollectLater() {
		<-ctx.Done()
		return nil
	}
	return delayCollection(ctx, log, opened, debug.SetGCPercent)
}
