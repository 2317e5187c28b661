package process

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/signpostd/signpost/internal/settings"
)

// Nothing told the runtime how much memory the pod may have. What the user says goes first.
func TestMemoryIsLimited(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	for name, test := range map[string]struct {
		environment string
		allowed     uint64
		err         error
		want        int64
		log         string
	}{
		"a limit":         {"", 1000 << 20, nil, 900 << 20, "is taken into account"},
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
		"writes":          {"", true, writerGarbage},
		"set by the user": {"50", true, 100}, // the runtime has read it already
		"doesn't write":   {"", false, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", test.environment) // which is put back
			if test.environment == "" {
				os.Unsetenv("GOGC")
			}
			cores := runtime.GOMAXPROCS(0)
			undo := collectLess(settings.Config{RunsControllers: test.writes})
			if got := garbagePercent(); got != test.want || runtime.GOMAXPROCS(0) != cores {
				t.Errorf("GOGC is %d, want %d, and %d cores are used of %d", got, test.want, runtime.GOMAXPROCS(0), cores)
			}
			if undo(); garbagePercent() != 100 {
				t.Errorf("GOGC stays %d", garbagePercent())
			}
		})
	}
}

// garbagePercent returns what the runtime says that GOGC is.
func garbagePercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
