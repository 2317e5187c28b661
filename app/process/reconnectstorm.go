package process

import (
	"context"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// stormInterval is how often the opened streams are counted. stormStreams in that time are a
	// reconnect storm: the proxies of a replica that died.
	stormInterval = 200 * time.Millisecond
	stormStreams  = 100
	// stormCalm is how long no storm must be seen before garbage is collected as usual again.
	stormCalm = 2 * time.Second
	// stormHeap is the size to which the heap grows during a storm before garbage is collected, in
	// percent of the memory limit. stormGrowth bounds it, in percent of what is in use.
	stormHeap   = 55
	stormGrowth = 400
)

// mayCollectLater reports whether garbage collection may be delayed during a storm: there is a
// memory limit, which the runtime keeps regardless of the percentage, and the user has not set GOGC.
func mayCollectLater() bool {
	_, set := os.LookupEnv("GOGC")
	return !set && debug.SetMemoryLimit(-1) < math.MaxInt64
}

// stormPercent returns the growth of the heap, in percent, before garbage is collected during a
// storm. limit is the memory limit, live what the heap had in use after the last collection, and
// roots the size of stacks and globals, by which the runtime lets the heap grow too; all in bytes.
func stormPercent(limit, live, roots uint64) int {
	size := min(limit, 1<<50) / 100 * stormHeap // without an overflow below
	if size <= live {
		return 0
	}
	return int(min((size-live)*100/max(live+roots, 1), stormGrowth))
}

// collector delays garbage collection, and lets it be as usual again.
type collector struct{ usual int }

// delay lets the heap grow to stormHeap, or as much as usual if that is more.
func (c *collector) delay() {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	percent := stormPercent(uint64(debug.SetMemoryLimit(-1)), samples[0].Value.Uint64(), samples[1].Value.Uint64()+samples[2].Value.Uint64())
	c.usual = debug.SetGCPercent(stormGrowth) // the only way to read it
	debug.SetGCPercent(max(percent, c.usual))
}

// resume collects garbage first. Under the usual percentage, a heap of this size would make every
// goroutine that allocates help with the collection.
func (c *collector) resume() {
	runtime.GC()
	debug.SetGCPercent(c.usual)
}

// delayCollection delays garbage collection during a reconnect storm, until ctx ends (decision
// 0055). A collection takes all idle cores, and a storm would cause several of them, one for each
// doubling of the heap; updates of all other streams would wait. opened returns the number of
// streams opened so far. delay and resume are those of a [collector].
func delayCollection(ctx context.Context, log *slog.Logger, opened func() uint64, delay, resume func()) error {
	ticker := time.NewTicker(stormInterval)
	defer ticker.Stop()
	last, calm := opened(), time.Time{} // calm is zero, unless garbage waits
	for {
		select {
		case <-ctx.Done():
			if !calm.IsZero() {
				resume()
			}
			return nil
		case now := <-ticker.C:
			n := opened()
			switch comes := n-last >= stormStreams; {
			case comes && calm.IsZero():
				delay()
				log.Debug("Delaying garbage collection during a reconnect storm", "streams", n-last)
				fallthrough
			case comes:
				calm = now.Add(stormCalm)
			case !calm.IsZero() && !now.Before(calm):
				resume()
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
	var c collector
	return delayCollection(ctx, log, opened, c.delay, c.resume)
}
