package overlay

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// measured is what testdata/clockprogram prints.
type measured struct {
	Waits  map[string]time.Duration
	Passed map[string]bounded
	Offset bounded
}

type bounded struct{ Least, Own, Most time.Duration }

// TestClocks runs a program that measures its own clock, with several clocks.
func TestClocks(t *testing.T) {
	program := filepath.Join(t.TempDir(), "clockprogram")
	if err := run(t.Context(), ClockEdits(), "build", "-trimpath", "-o", program, "./dev/lab/overlay/testdata/clockprogram"); err != nil {
		t.Fatal(err)
	}
	checkBadClocks(t, program)
	for name, clock := range map[string]Clock{
		"the machine's": {},
		"ahead":         {Offset: 10 * time.Minute, Rate: 1},
		"behind":        {Offset: -10*time.Minute - time.Millisecond, Rate: 1},
		"fast":          {Rate: 1.3},
		"twice":         {Offset: time.Hour, Rate: 2},
		"slow":          {Rate: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits most of the time
			got := measure(t, program, clock.Env())
			if len(got.Waits) != 9 || len(got.Passed) != 4 {
				t.Fatalf("got %d ways to wait and %d to read the clock, want 9 and 4", len(got.Waits), len(got.Passed))
			}
			rate := cmp.Or(clock.Rate, 1)
			for way, took := range got.Waits {
				checkWait(t, way, took, rate)
			}
			for way, p := range got.Passed {
				least, most := scaled(p.Least, rate), scaled(p.Most, rate)
				if p.Own < least || p.Own > most {
					t.Errorf("%s: %s passed, want %s to %s", way, p.Own, least, most)
				}
			}
			// The offset is read a little after the start, from which the rate counts.
			if off := clock.Offset; got.Offset.Least > off+100*time.Millisecond || got.Offset.Most < off-100*time.Millisecond {
				t.Errorf("the wall clock is %s to %s ahead, want %s", got.Offset.Least, got.Offset.Most, off)
			}
		})
	}
}

// checkBadClocks fails if the program starts with a clock that can't be read.
func checkBadClocks(t *testing.T, program string) {
	for entry, want := range map[string]string{
		"x":                    "must be of the form offset=10m0s rate=1.3",
		"offset=1m":            "must be of the form offset=10m0s rate=1.3",
		"offset=1 rate=1":      "missing unit in duration",
		"offset=1m rate=fast":  "invalid duration",
		"offset=0s rate=10.01": "the rate must be from 0.1 to 10",
		"offset=0s rate=-1":    "the rate must be from 0.1 to 10",
	} {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Env = append(os.Environ(), "SIGNPOST_LAB_CLOCK="+entry)
		if printed, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(printed), want) {
			t.Errorf("%q: got the error %v and %q, want a panic with %q", entry, err, printed, want)
		}
	}
}

// checkWait fails if the fastest of three waits of 300 ms was too short, or much too long.
func checkWait(t *testing.T, way string, took time.Duration, rate float64) {
	want := scaled(300*time.Millisecond, 1/rate)
	if took < want-time.Millisecond || took > want+100*time.Millisecond {
		t.Errorf("%s of 300 ms took %s of the machine's time, want %s", way, took, want)
	}
}

func scaled(d time.Duration, rate float64) time.Duration { return time.Duration(float64(d) * rate) }

func measure(t *testing.T, program, env string) measured {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), env)
	printed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got measured
	if err := json.Unmarshal(printed, &got); err != nil {
		t.Fatal(err)
	}
	t.Log(strings.TrimSpace(string(printed)))
	return got
}
