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

// Garbage collection is delayed during a reconnect storm and for a while after it, but not for
// streams that are opened one by one (faults.md, row 9).
func TestStormsDelayCollection(t *testing.T) {
	for name, test := range map[string]struct {
		// steps are how many streams are opened in each interval.
		steps []uint64
		// want is when collection was delayed and resumed by turns, in intervals that had passed.
		want []int
	}{
		"one by one":      {[]uint64{stormStreams - 1, 5, stormStreams - 1}, nil},
		"a storm":         {[]uint64{0, stormStreams, 500, 500}, []int{2, 4 + 10}},
		"two storms":      {[]uint64{500, 0, 0, 500}, []int{1, 4 + 10}},
		"storms far away": {append(append([]uint64{500}, make([]uint64, 12)...), 500), []int{1, 11, 14, 24}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, delayed := time.Now(), false
				var opened atomic.Uint64
				var got []int
				change := func(delay bool) func() {
					return func() {
						if delay == delayed {
							t.Errorf("delayed %v twice", delay)
						}
						delayed, got = delay, append(got, int(time.Since(begun)/stormInterval))
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					ended <- delayCollection(ctx, slog.New(slog.DiscardHandler), opened.Load, change(true), change(false))
				}()
				time.Sleep(stormInterval / 2) // of the bubble's clock: the streams come between two counts
				for _, n := range test.steps {
					opened.Add(n)
					time.Sleep(stormInterval)
				}
				time.Sleep(2 * stormCalm)
				cancel()
				if err := <-ended; err != nil || !slices.Equal(got, test.want) || delayed {
					t.Errorf("delayed and resumed at %v, want %v; delayed in the end: %v; error %v", got, test.want, delayed, err)
				}
			})
		})
	}
}

// Collection is resumed when the process ends in the middle of a storm.
func TestGarbageAtTheEndOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var delayed atomic.Bool
		var opened atomic.Uint64
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- delayCollection(ctx, slog.New(slog.DiscardHandler), opened.Load, func() { delayed.Store(true) }, func() { delayed.Store(false) })
		}()
		time.Sleep(stormInterval / 2) // of the bubble's clock: the streams come between two counts
		opened.Add(stormStreams)
		time.Sleep(stormInterval)
		if !delayed.Load() {
			t.Error("collection isn't delayed during a storm")
		}
		cancel()
		if err := <-ended; err != nil || delayed.Load() {
			t.Errorf("delayed in the end: %v; error %v", delayed.Load(), err)
		}
	})
}

// The heap grows to a share of the memory limit, but not more than fivefold.
func TestStormPercent(t *testing.T) {
	for name, test := range map[string]struct {
		limit, live, roots uint64
		want               int
	}{
		"to the share":                {2000, 400, 0, 175},
		"roots let it grow, too":      {2000, 400, 100, 140},
		"the share is in use":         {2000, 1100, 0, 0},
		"more than that is in use":    {2000, 1900, 100, 0},
		"far below the limit":         {100000, 400, 0, stormGrowth},
		"before the first collection": {100000, 0, 0, stormGrowth},
	} {
		if got := stormPercent(test.limit, test.live, test.roots); got != test.want {
			t.Errorf("%s: %d %%, want %d", name, got, test.want)
		}
	}
}

// A collector delays garbage collection, and then restores the former percentage.
func TestCollector(t *testing.T) {
	const usual = 137
	debug.SetGCPercent(usual)
	t.Cleanup(func() { debug.SetGCPercent(100) })
	var c collector
	c.delay()
	if got := debug.SetGCPercent(usual); got < usual {
		t.Errorf("garbage waits for a growth of %d %%, less than the usual %d", got, usual)
	}
	c.resume()
	if got := debug.SetGCPercent(usual); got != usual {
		t.Errorf("%d %% in the end, want %d", got, usual)
	}
}

// Garbage collection is delayed only with a memory limit, and only if the user has not set GOGC.
func TestGarbageWaitsBelowALimit(t *testing.T) {
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
			if got := mayDelayCollection(); got != test.want {
				t.Errorf("garbage may wait: %v, want %v", got, test.want)
			}
		})
	}
}
