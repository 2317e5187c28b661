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

// Garbage waits while a herd comes and for a while after it, and not for streams that come one by
// one (faults.md, row 9).
func TestGarbageWaitsForHerds(t *testing.T) {
	const usual = 150
	for name, test := range map[string]struct {
		// steps are how many streams are opened in each interval.
		steps []uint64
		// want is what the percentage was set to, and then how often the intervals had passed.
		want [][2]int
	}{
		"one by one":     {[]uint64{stormStreams - 1, 5, stormStreams - 1}, nil},
		"a herd":         {[]uint64{0, stormStreams, 500, 500}, [][2]int{{stormGarbage, 2}, {usual, 4 + 10}}},
		"two herds":      {[]uint64{500, 0, 0, 500}, [][2]int{{stormGarbage, 1}, {usual, 4 + 10}}},
		"herds far away": {append(append([]uint64{500}, make([]uint64, 12)...), 500), [][2]int{{stormGarbage, 1}, {usual, 11}, {stormGarbage, 14}, {usual, 24}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, percent := time.Now(), usual
				var opened atomic.Uint64
				var got [][2]int
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					ended <- delayCollection(ctx, slog.New(slog.DiscardHandler), opened.Load, func(n int) int {
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

// What a herd changed is put back when the process ends in the middle of it.
func TestGarbageAtTheEndOfTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var percent atomic.Int64
		percent.Store(100)
		var opened atomic.Uint64
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- delayCollection(ctx, slog.New(slog.DiscardHandler), opened.Load, func(n int) int {
				return int(percent.Swap(int64(n)))
			})
		}()
		time.Sleep(stormInterval / 2) // of the bubble's clock: the streams come between two counts
		opened.Add(stormStreams)
		time.Sleep(stormInterval)
		if got := percent.Load(); got != stormGarbage {
			t.Errorf("%d %% while the herd comes", got)
		}
		cancel()
		if err := <-ended; err != nil || percent.Load() != 100 {
			t.Errorf("%d %% in the end; error %v", percent.Load(), err)
		}
	})
}

// Garbage waits only where a limit of memory bounds it, and where the user doesn't say otherwise.
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
			if got := mayCollectLater(); got != test.want {
				t.Errorf("garbage may wait: %v, want %v", got, test.want)
			}
		})
	}
}
