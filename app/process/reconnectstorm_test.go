package process

import (
	"context"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// stormGarbage is the growth of the heap in the tests, in percent.
const stormGarbage = 190

// Garbage collection waits during a reconnect storm and shortly after it, but not for streams that open
// one by one (faults.md, row 9).
func TestCollectionWaitsInStorms(t *testing.T) {
	const usual = 150
	for name, test := range map[string]struct {
		// steps are how many streams are opened in each interval.
		steps []uint64
		// want is what the percentage was set to, and then how often the intervals had passed.
		want [][2]int
	}{
		"one by one":   {[]uint64{stormStreams - 1, 5, stormStreams - 1}, nil},
		"a storm":      {[]uint64{0, stormStreams, 500, 500}, [][2]int{{stormGarbage, 2}, {usual, 4 + 2}}},
		"two storms":   {[]uint64{500, 0, 500}, [][2]int{{stormGarbage, 1}, {usual, 3 + 2}}},
		"storms apart": {[]uint64{500, 0, 0, 0, 500}, [][2]int{{stormGarbage, 1}, {usual, 3}, {stormGarbage, 5}, {usual, 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, percent := time.Now(), usual
				var opened atomic.Uint64
				var got [][2]int
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					ended <- delayCollection(ctx, slog.New(slog.DiscardHandler), opened.Load, func() int { return stormGarbage }, func(n int) int {
						got = append(got, [2]int{n, int(time.Since(begun) / stormInterval)})
						before := percent
						percent = n
						return before
					})
				}()
				time.Sleep(stormInterval / 2) // of the bubble's clock: the streams come between two counts
				for _, n := range test.steps {
					opened.Add(n)
					time.Sleep(stormInterval)
				}
				time.Sleep(2 * stormCalm)
				cancel()
				if err := <-ended; err != nil || !slices.Equal(got, test.want) || percent != usual {
					t.Errorf("set %v, want %v; in the end %d %%; error %v", got, test.want, percent, err)
				}
			})
		})
	}
}

// The usual percentage is restored if the process ends during a storm.
func TestCollectionAtTheEndOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var percent atomic.Int64
		percent.Store(100)
		var opened atomic.Uint64
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- delayCollection(ctx, slog.New(slog.DiscardHandler), opened.Load, func() int { return stormGarbage }, func(n int) int {
				return int(percent.Swap(int64(n)))
			})
		}()
		time.Sleep(stormInterval / 2) // of the bubble's clock: the streams come between two counts
		opened.Add(stormStreams)
		time.Sleep(stormInterval)
		if got := percent.Load(); got != stormGarbage {
			t.Errorf("%d %% during the storm", got)
		}
		cancel()
		if err := <-ended; err != nil || percent.Load() != 100 {
			t.Errorf("%d %% in the end; error %v", percent.Load(), err)
		}
	})
}

// Garbage collection waits only if there is a memory limit and the user has not set GOGC.
func TestCollectionWaitsBelowALimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for name, test := range map[string]struct {
		environment string
		limit       int64
		want        bool
	}{
		"limit":           {"", 1 << 40, true},
		"no limit":        {"", math.MaxInt64, false},
		"set by the user": {"100", 1 << 40, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", test.environment) // which is put back
			if test.environment == "" {
				os.Unsetenv("GOGC")
			}
			debug.SetMemoryLimit(test.limit)
			if got := mayCollectLater(); got != test.want {
				t.Errorf("garbage may wait: %v, want %v", got, test.want)
			}
		})
	}
}

// The heap may grow to a share of the memory limit, whatever lived at the last collection.
func TestGrowthInStorms(t *testing.T) {
	for _, test := range []struct {
		goal, live float64
		want       int
	}{
		{1000, 250, 300},
		{1000, 400, 150},
		{1000, 900, minStormGarbage},
		{1000, 10, maxStormGarbage},
		{1000, 0, maxStormGarbage},
	} {
		if got := growthTo(test.goal, test.live); got != test.want {
			t.Errorf("from %v to %v: %d %%, want %d", test.live, test.goal, got, test.want)
		}
	}
	if got := stormPercent(); got < minStormGarbage || got > maxStormGarbage {
		t.Errorf("%d %% of the heap of this process", got)
	}
}
