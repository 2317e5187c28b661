package scale

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/simulation"
)

const (
	// steadyAfter is how long after the start the memory is steady: the Go runtime collects
	// garbage at least every two minutes, and then gives back what it doesn't need.
	steadyAfter = 150 * time.Second
	// steadyLimit is what steady memory may be, in MiB.
	steadyLimit = 450
)

// measureMemory measures memory without streams: steady, at the peak of the start, and
// with a limit.
func measureMemory(ctx context.Context, r *measure.Report, c measure.Options) error {
	k, err := simulation.Start(ctx, sizeOf(c))
	if err != nil {
		return err
	}
	defer k.Stop()
	r.TitleBeside("", "%s, no streams", k.Size)
	unlimited, err := measureUnlimited(ctx, r, c, k)
	if err != nil {
		return err
	}
	return measureLimited(ctx, r, k, unlimited)
}

// measureUnlimited returns what garbage collection took at the start.
func measureUnlimited(ctx context.Context, r *measure.Report, c measure.Options, k *simulation.Cluster) (collected, error) {
	run, err := startBeside(ctx, k, "GODEBUG=gctrace=1")
	if err != nil {
		return collected{}, err
	}
	defer run.server.Stop()
	peak, err := run.server.PeakMemory()
	if err != nil {
		return collected{}, err
	}
	start, err := run.collected()
	if err != nil {
		return collected{}, err
	}
	if err := measure.Pause(ctx, settling(c)); err != nil {
		return collected{}, err
	}
	steady, err := run.server.Usage()
	if err != nil {
		return collected{}, err
	}
	later, err := run.server.PeakMemory()
	if err != nil {
		return collected{}, err
	}
	heap, err := measure.HeapAfterGC(ctx)
	if err != nil {
		return collected{}, err
	}
	r.Note("peak %.0f MiB until ready, %.0f MiB later; live heap %.0f MiB, %.0f bytes for each pod with all that belongs to it",
		peak/measure.Mebibyte, later/measure.Mebibyte, heap/measure.Mebibyte, heap/float64(k.PodCount()))
	r.Note("ready after %.1f s, with %.1f s of CPU", run.ready.Seconds(), run.begun.Cpu.Seconds())
	r.AtMost("memory, steady", "MiB", steady.Rss/measure.Mebibyte, steadyLimit)
	r.AtMost("peak of the start, beside what steady may be", "×", max(peak, later)/measure.Mebibyte/steadyLimit, 1.5)
	r.Note("the peak is %.2f × of steady", max(peak, later)/steady.Rss)
	return start, nil
}

// settling returns how long to wait until memory is steady.
func settling(c measure.Options) time.Duration {
	return max(5*time.Second, time.Duration(min(c.Scale, 1)*float64(steadyAfter)))
}

// measureLimited starts the server with a limit of memory that it has to keep by collecting garbage.
func measureLimited(ctx context.Context, r *measure.Report, k *simulation.Cluster, unlimited collected) error {
	run, err := startBeside(ctx, k, "GOMEMLIMIT=500MiB", "GODEBUG=gctrace=1")
	if err != nil {
		return err
	}
	defer run.server.Stop()
	peak, err := run.server.PeakMemory()
	if err != nil {
		return err
	}
	limited, err := run.collected()
	if err != nil {
		return err
	}
	r.Note("with GOMEMLIMIT=500MiB: peak %.0f MiB; ready after %.1f s, with %.1f s of CPU", peak/measure.Mebibyte, run.ready.Seconds(), run.begun.Cpu.Seconds())
	r.AtMost("garbage collection until ready, of the CPU there was", "%", limited.percent, 25)
	r.Note("of the CPU that the process used: %.0f %%, and %.0f %% without the limit", 100*limited.share, 100*unlimited.share)
	return nil
}

// collected is what garbage collection took: percent of the CPU time that there was, as the Go
// runtime says, and the share of what the process used.
type collected struct{ percent, share float64 }

// collected returns what garbage collection took so far. The process must run with GODEBUG=gctrace=1.
func (run *run) collected() (collected, error) {
	used, err := run.server.Usage()
	if err != nil {
		return collected{}, err
	}
	log, err := os.ReadFile(run.server.Log)
	if err != nil {
		return collected{}, err
	}
	// The log has the starts before this one.
	text := string(log[max(0, bytes.LastIndex(log, []byte("\ngc 1 @"))):])
	percent, took := collecting(text)
	return collected{percent, took.Seconds() / used.Cpu.Seconds()}, nil
}

// gcLine is a line of GODEBUG=gctrace=1: the percentage since the start, and CPU times. These are
// those of the pauses, and between them of the goroutines that allocated, of the collector, and of
// the collector on cores that had nothing else to do.
var gcLine = regexp.MustCompile(`(?m)^gc \d+ @[\d.]+s (\d+)%: .* ms clock, ([\d.]+)\+([\d.]+)/([\d.]+)/[\d.]+\+([\d.]+) ms cpu,`)

// collecting returns the last percentage in a log, and how much CPU time garbage collection took
// without that of cores that had nothing else to do.
func collecting(log string) (percent float64, took time.Duration) {
	var sum float64
	for _, line := range gcLine.FindAllStringSubmatch(log, -1) {
		percent, _ = strconv.ParseFloat(line[1], 64) // the expression lets only numbers through
		for _, text := range line[2:] {
			ms, _ := strconv.ParseFloat(text, 64)
			sum += ms
		}
	}
	return percent, time.Duration(sum * float64(time.Millisecond))
}
