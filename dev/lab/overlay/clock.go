package overlay

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"time"
)

// Clock is how the clock of a process differs from the machine's. The zero Clock doesn't differ.
type Clock struct {
	// Offset is how far the process's wall clock is ahead, or behind if it is negative. Its monotonic
	// clock has no offset.
	Offset time.Duration
	// Rate is how many seconds pass on both clocks of the process in one second, from 0.1 to 10, in
	// thousandths; 0 counts as 1. What the wall clock gains that way is counted from the start of the
	// process.
	Rate float64
}

// Env returns the clock as an entry of a process's environment: SIGNPOST_LAB_CLOCK=offset=10m0s
// rate=1.3. Only a binary that was built with ClockEdits follows it. Without the entry, such a
// binary has the machine's clock. If the entry is not one that Env returned, the binary panics when
// it starts.
func (c Clock) Env() string {
	return fmt.Sprintf("SIGNPOST_LAB_CLOCK=offset=%s rate=%s", c.Offset, strconv.FormatFloat(cmp.Or(c.Rate, 1), 'f', -1, 64))
}

// clockSource is a file of package time, in which durations of the process's clock become those of
// the machine's.
//
//go:embed clock.go.txt
var clockSource string

// ClockEdits are changes of Go's own packages with which a process follows the environment variable
// of Clock.Env: time.Now, Since and Until, timers, tickers, AfterFunc, Sleep, hence deadlines of
// contexts, and deadlines of connections. All of them keep to the process's clock. The runtime's
// own times (the garbage collector, the scheduler), the kernel's and those of files stay as they
// are.
//
// The runtime goes on counting the machine's time. So durations are converted where they are handed
// to it, and its answers where package time reads them.
func ClockEdits() []Edit {
	return []Edit{
		{File: "$GOROOT/src/time/lab_clock.go", New: clockSource},
		{
			File: "$GOROOT/src/time/time.go",
			Old:  "sec, nsec, mono := runtimeNow()",
			New:  "sec, nsec, mono := labNow()",
		},
		{ // Since
			File: "$GOROOT/src/time/time.go",
			Old:  "subMono(runtimeNano()-startNano, t.ext)",
			New:  "subMono(labElapsed(), t.ext)",
		},
		{ // Until
			File: "$GOROOT/src/time/time.go",
			Old:  "subMono(t.ext, runtimeNano()-startNano)",
			New:  "subMono(t.ext, labElapsed())",
		},
		{ // NewTimer, AfterFunc, Reset
			File: "$GOROOT/src/time/sleep.go",
			Old:  "runtimeNano() + int64(d)",
			New:  "runtimeNano() + labReal(int64(d))",
		},
		{ // how late somebody received from a channel
			File: "$GOROOT/src/time/sleep.go",
			Old:  "Duration(-delta)",
			New:  "Duration(-labOwn(delta))",
		},
		{
			File: "$GOROOT/src/time/sleep.go",
			Old:  "func Sleep(d Duration)\n",
			New:  "func Sleep(d Duration) { labSleep(labReal(int64(d))) }\n",
		},
		{
			File: "$GOROOT/src/runtime/time.go",
			Old:  "//go:linkname timeSleep time.Sleep\n",
			New:  "//go:linkname timeSleep time.labSleep\n",
		},
		{
			File: "$GOROOT/src/time/tick.go",
			Old:  "newTimer(when(d), int64(d),",
			New:  "newTimer(when(d), labReal(int64(d)),",
		},
		{
			File: "$GOROOT/src/time/tick.go",
			Old:  "when(d), int64(d))\n",
			New:  "when(d), labReal(int64(d)))\n",
		},
		{ // SetDeadline of connections
			File: "$GOROOT/src/internal/poll/fd_poll_runtime.go",
			Old:  "func setDeadlineImpl(",
			New:  "//go:linkname labReal time.labReal\nfunc labReal(own int64) int64\n\nfunc setDeadlineImpl(",
		},
		{
			File: "$GOROOT/src/internal/poll/fd_poll_runtime.go",
			Old:  "runtime_pollSetDeadline(fd.pd.runtimeCtx, d, mode)",
			New:  "runtime_pollSetDeadline(fd.pd.runtimeCtx, labReal(d), mode)",
		},
	}
}
