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
	// herdInterval is how often the streams that were opened are counted, and herdStreams how many
	// of them in that time are a herd: the proxies of a replica that died.
	herdInterval = 200 * time.Millisecond
	herdStreams  = 100
	// herdCalm is how long no herd has come when garbage is collected as usual again.
	herdCalm = 2 * time.Second
	// herdGarbage is by how many percent the heap may grow while a herd comes before garbage is
	// collected. With more, the peak of 20,000 streams that come beside 100,000 pods exceeds 1.2 GiB.
	herdGarbage = 150
)

// mayCollectLater reports whether garbage may wait while a herd comes: if there is a limit of
// memory, which the runtime keeps whatever herdGarbage says, and if the user has not said how
// often to collect.
func mayCollectLater() bool {
	_, set := os.LookupEnv("GOGC")
	return !set && debug.SetMemoryLimit(-1) < math.MaxInt64
}

// collectAfterHerds lets garbage wait while many streams are opened, until ctx ends (decision
// 0055). A collection takes all cores that are idle, and a herd would cause several of them, one
// for each doubling of the heap; updates of all other streams would wait for a core. The function
// opened returns how many streams were opened so far, and setPercent is debug.SetGCPercent.
func collectAfterHerds(ctx context.Context, log *slog.Logger, opened func() uint64, setPercent func(int) int) error {
	ticker := time.NewTicker(herdInterval)
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
			switch comes := n-last >= herdStreams; {
			case comes && calm.IsZero():
				usual = setPercent(herdGarbage)
				log.Debug("Many streams come; garbage is collected later", "streams", n-last)
				fallthrough
			case comes:
				calm = now.Add(herdCalm)
			case !calm.IsZero() && !now.Before(calm):
				setPercent(usual)
				calm = time.Time{}
				log.Debug("No more streams come; garbage is collected as usual")
			}
			last = n
		}
	}
}

// whileLimited is collectAfterHerds if garbage may wait, and else waits for the end of ctx, because
// an actor that returns stops the process.
func whileLimited(ctx context.Context, log *slog.Logger, opened func() uint64) error {
	if !mayCollectLater() {
		<-ctx.Done()
		return nil
	}
	return collectAfterHerds(ctx, log, opened, debug.SetGCPercent)
}
