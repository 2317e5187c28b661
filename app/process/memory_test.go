package process

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/signpostd/signpost/app/settings"
)

// The runtime gets the memory limit of the pod, unless the user sets another one.
func TestMemoryIsLimited(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	for name, test := range map[string]struct {
		environment string
		allowed     uint64
		err         error
		want        int64
		log         string
	}{
		"a limit":         {"", 1000 << 20, nil, 900 << 20, "Limited the heap"},
		"set by the user": {"5GiB", 1000 << 20, nil, before, ""}, // the runtime has read it already
		"no limit":        {"", 0, memlimit.ErrNoLimit, before, ""},
		"no cgroup":       {"", 0, memlimit.ErrNoCgroup, before, ""},
		"without bounds":  {"", math.MaxUint64, nil, before, ""},
		"unreadable":      {"", 0, errors.New("broken"), before, "set GOMEMLIMIT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOMEMLIMIT", test.environment) // which is put back
			if test.environment == "" {
				os.Unsetenv("GOMEMLIMIT")
			}
			var log strings.Builder
			undo := limitMemory(slog.New(slog.NewTextHandler(&log, nil)), func() (uint64, error) { return test.allowed, test.err })
			if got := debug.SetMemoryLimit(-1); got != test.want || (log.Len() > 0) != (test.log != "") || !strings.Contains(log.String(), test.log) {
				t.Errorf("the limit is %d, want %d; log: %s", got, test.want, log.String())
			}
			if undo(); debug.SetMemoryLimit(-1) != before {
				t.Errorf("the limit stays %d", debug.SetMemoryLimit(-1))
			}
		})
	}
}

// A process that writes collects garbage less often, unless the user says how often, and
// leaves the number of cores to the runtime, which follows the cgroup.
func TestWritersCollectLess(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for name, test := range map[string]struct {
		environment string
		writes      bool
		want        uint64
	}{
		"writes":          {"", true, writerGCPercent},
		"set by the user": {"50", true, 100}, // the runtime has read it already
		"doesn't write":   {"", false, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", test.environment) // which is put back
			if test.environment == "" {
				os.Unsetenv("GOGC")
			}
			cores := runtime.GOMAXPROCS(0)
			undo := raiseGCPercent(settings.Config{RunsControllers: test.writes})
			if got := garbagePercent(); got != test.want || runtime.GOMAXPROCS(0) != cores {
				t.Errorf("GOGC is %d, want %d, and %d cores are used of %d", got, test.want, runtime.GOMAXPROCS(0), cores)
			}
			if undo(); garbagePercent() != 100 {
				t.Errorf("GOGC stays %d", garbagePercent())
			}
		})
	}
}

// garbagePercent returns the GOGC percentage of the runtime.
func garbagePercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Memory is given back once, some time after the tables are filled, and not if the process ends before.
func TestMemoryIsReleased(t *testing.T) {
	for name, test := range map[string]struct {
		settled, ends time.Duration // zero settled: never
		want          int
	}{
		"settled":               {time.Second, time.Hour, 1},
		"ends before the delay": {time.Second, time.Second + releaseDelay - 1, 0},
		"never settled":         {0, time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, released := time.Now(), 0
				ctx, cancel := context.WithTimeout(t.Context(), test.ends)
				defer cancel()
				settled := make(chan struct{})
				if test.settled > 0 {
					time.AfterFunc(test.settled, func() { close(settled) })
				}
				err := releaseAfter(ctx, settled, releaseDelay, func() {
					released++
					if took := time.Since(begun); took != test.settled+releaseDelay {
						t.Errorf("released after %s", took)
					}
				})
				if err != nil || released != test.want || time.Since(begun) != test.ends {
					t.Errorf("released %d times, want %d; it returned %v after %s", released, test.want, err, time.Since(begun))
				}
			})
		})
	}
}
