package process

import (
	"context"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// stormInterval is how often the opened streams are counted. stormStreams in that time are a
	// reconnect storm: the proxies of a replica that died.
	stormInterval = 200 * time.Millisecond
	stormStreams  = 100
	// stormCalm is how long no storm must be seen before garbage is collected as usual again. It is short,
	// so that garbage is collected between two storms and not in the second one.
	stormCalm = 2 * stormInterval
	// stormHeap is the size of the heap, as a share of the memory limit, at which garbage is collected
	// during a storm. The rest is for stacks, for what the runtime doesn't return, and for the collection.
	stormHeap = 0.56
	// minStormGarbage and maxStormGarbage limit the growth of the heap, in percent, that stormHeap gives.
	minStormGarbage, maxStormGarbage = 100, 400
)

// liveHeap is the metric of what the last collection kept, in bytes.
const liveHeap = "/gc/heap/live:bytes"

// stormPercent returns the growth of the heap in percent with which it reaches stormHeap.
func stormPercent() int {
	live := []metrics.Sample{{Name: liveHeap}}
	metrics.Read(live)
	return growthTo(stormHeap*float64(debug.SetMemoryLimit(-1)), float64(live[0].Value.Uint64()))
}

// growthTo returns the percent by which live bytes may grow to reach a goal.
func growthTo(goal, live float64) int {
	return int(min(max((goal/max(live, 1)-1)*100, minStormGarbage), maxStormGarbage))
}

// mayCollectLater reports whether garbage collection may be delayed during a storm: there is a
// memory limit, of which stormHeap is a share, and the user has not set GOGC.
func mayCollectLater() bool {
	_, set := os.LookupEnv("GOGC")
	return !set && debug.SetMemoryLimit(-1) < math.MaxInt64
}

// delayCollection delays garbage collection during a reconnect storm, until ctx ends (decision
// 0055). A collection takes all idle cores, and a storm would cause several of them, one for each
// doubling of the heap; updates of all other streams would wait. opened returns the number of
// streams opened so far, and growth that of the heap during a storm, in percent. setPercent is
// debug.SetGCPercent.
func delayCollection(ctx context.Context, log *slog.Logger, opened func() uint64, growth func() int, setPercent func(int) int) error {
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
				percent := growth()
				if usual = setPercent(percent); usual > percent {
					setPercent(usual)
				}
				log.Debug("Delaying garbage collection during a reconnect storm", "streams", n-last, "percent", percent)
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
	return delayCollection(ctx, log, opened, stormPercent, debug.SetGCPercent)
}
