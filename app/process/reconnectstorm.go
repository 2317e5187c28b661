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
	// stormCalm is the time without a storm after which garbage is collected as usual again.
	stormCalm = 2 * time.Second
	// stormHeap is the size to which the heap grows during a storm before garbage is collected, in
	// percent of the memory limit. stormGrowth caps the growth, in percent of the live heap.
	stormHeap   = 55
	stormGrowth = 400
)

// mayDelayCollection reports whether garbage collection may be delayed during a storm: there is a
// memory limit, which the runtime keeps regardless of the percentage, and the user has not set
// GOGC.
func mayDelayCollection() bool {
	_, set := os.LookupEnv("GOGC")
	return !set && debug.SetMemoryLimit(-1) < math.MaxInt64
}

// stormPercent returns the GOGC percentage during a storm. limit is the memory limit, live the heap
// after the last collection, and roots the size of stacks and globals, which the runtime adds to
// the heap; all in bytes.
func stormPercent(limit, live, roots uint64) int {
	size := min(limit, 1<<50) / 100 * stormHeap // without an overflow below
	if size <= live {
		return 0
	}
	return int(min((size-live)*100/max(live+roots, 1), stormGrowth))
}

// collector delays garbage collection. usual is the GOGC percentage before.
type collector struct{ usual int }

// delay lets the heap grow to stormHeap, or by the usual percentage if that is more.
func (c *collector) delay() {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	percent := stormPercent(uint64(debug.SetMemoryLimit(-1)), samples[0].Value.Uint64(), samples[1].Value.Uint64()+samples[2].Value.Uint64())
	c.usual = debug.SetGCPercent(stormGrowth) // the only way to read it
	debug.SetGCPercent(max(percent, c.usual))
}

// resume restores the usual percentage. It collects garbage first, because otherwise every
// goroutine that allocates would have to help with the collection of a heap of this size.
func (c *collector) resume() {
	runtime.GC()
	debug.SetGCPercent(c.usual)
}

// delayCollection delays garbage collection during a reconnect storm, until ctx ends (decision
// 0055). A collection takes all idle cores, and a storm would cause several of them, one for each
// doubling of the heap; updates of all other streams would wait. opened returns the number of
// streams opened so far. delay and resume are those of a [collector].
func delayCollection(ctx context.Context, log *slog.Logger, opened func() uint64, delay, resume func()) error {
	ticker := time.Tick(stormInterval)
	last, calmAt := opened(), time.Time{} // calmAt is zero unless collection is delayed
	for {
		select {
		case <-ctx.Done():
			if !calmAt.IsZero() {
				resume()
			}
			return nil
		case now := <-ticker:
			n := opened()
			switch storm := n-last >= stormStreams; {
			case storm && calmAt.IsZero():
				delay()
				log.Debug("Delaying garbage collection during a reconnect storm", "streams", n-last)
				fallthrough
			case storm:
				calmAt = now.Add(stormCalm)
			case !calmAt.IsZero() && !now.Before(calmAt):
				resume()
				calmAt = time.Time{}
				log.Debug("The reconnect storm has ended; garbage is collected as usual")
			}
			last = n
		}
	}
}

// delayCollectionInStorms runs delayCollection if that is allowed. Otherwise it waits for the end
// of ctx, because an actor that returns stops the process.
func delayCollectionInStorms(ctx context.Context, log *slog.Logger, opened func() uint64) error {
	if !mayDelayCollection() {
		<-ctx.Done()
		return nil
	}
	var c collector
	return delayCollection(ctx, log, opened, c.delay, c.resume)
}
