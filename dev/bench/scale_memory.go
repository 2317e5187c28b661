package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"time"
)

const (
	// steadyAfter is how long after the start the memory is steady: the Go runtime collects
	// garbage at least every two minutes, and then gives back what it doesn't need.
	steadyAfter = 150 * time.Second
	mebibyte    = 1 << 20
	// steadyLimit is what steady memory may be, in MiB.
	steadyLimit = 450
)

// measureScaledMemory measures memory without streams: steady, at the peak of the start, and
// with a limit.
func measureScaledMemory(ctx context.Context, r *report, c choice) error {
	k, err := startSimulated(ctx, scaledCluster(c))
	if err != nil {
		return err
	}
	defer k.stop()
	r.titleBeside("", "%s, no streams", k.simulated)
	unlimited, err := measureUnlimited(ctx, r, c, k)
	if err != nil {
		return err
	}
	return measureLimited(ctx, r, k, unlimited)
}

// measureUnlimited returns what garbage collection took at the start.
func measureUnlimited(ctx context.Context, r *report, c choice, k *simulatedCluster) (collected, error) {
	run, err := startScaled(ctx, k, "GODEBUG=gctrace=1")
	if err != nil {
		return collected{}, err
	}
	defer run.server.stop()
	peak, err := run.server.peakMemory()
	if err != nil {
		return collected{}, err
	}
	start, err := run.collected()
	if err != nil {
		return collected{}, err
	}
	if err := pause(ctx, settling(c)); err != nil {
		return collected{}, err
	}
	steady, err := run.server.usage()
	if err != nil {
		return collected{}, err
	}
	later, err := run.server.peakMemory()
	if err != nil {
		return collected{}, err
	}
	heap, err := heapAfterGC(ctx)
	if err != nil {
		return collected{}, err
	}
	r.note("peak %.0f MiB until ready, %.0f MiB later; live heap %.0f MiB, %.0f bytes for each pod with all that belongs to it",
		peak/mebibyte, later/mebibyte, heap/mebibyte, heap/float64(k.podCount()))
	r.note("ready after %.1f s, with %.1f s of CPU", run.ready.Seconds(), run.begun.cpu.Seconds())
	r.atMost("memory, steady", "MiB", steady.rss/mebibyte, steadyLimit)
	r.atMost("peak of the start, beside what steady may be", "×", max(peak, later)/mebibyte/steadyLimit, 1.5)
	r.note("the peak is %.2f × of steady", max(peak, later)/steady.rss)
	return start, nil
}

// settling returns how long to wait until memory is steady.
func settling(c choice) time.Duration {
	return max(5*time.Second, time.Duration(min(c.scale, 1)*float64(steadyAfter)))
}

// String describes the cluster.
func (s simulated) String() string {
	return fmt.Sprintf("%d Services, %d pods, %d nodes, %d ReplicaSets", s.services, s.podCount(), s.nodeCount(), s.services*replicaSetsPerService)
}

// measureLimited starts the server with a limit of memory that it has to keep by collecting garbage.
func measureLimited(ctx context.Context, r *report, k *simulatedCluster, unlimited collected) error {
	run, err := startScaled(ctx, k, "GOMEMLIMIT=500MiB", "GODEBUG=gctrace=1")
	if err != nil {
		return err
	}
	defer run.server.stop()
	peak, err := run.server.peakMemory()
	if err != nil {
		return err
	}
	limited, err := run.collected()
	if err != nil {
		return err
	}
	r.note("with GOMEMLIMIT=500MiB: peak %.0f MiB; ready after %.1f s, with %.1f s of CPU", peak/mebibyte, run.ready.Seconds(), run.begun.cpu.Seconds())
	r.atMost("garbage collection until ready, of the CPU there was", "%", limited.percent, 25)
	r.note("of the CPU that the process used: %.0f %%, and %.0f %% without the limit", 100*limited.share, 100*unlimited.share)
	return nil
}

// collected is what garbage collection took: percent of the CPU time that there was, as the Go
// runtime says, and the share of what the process used.
type collected struct{ percent, share float64 }

// collected returns what garbage collection took so far. The process must run with GODEBUG=gctrace=1.
func (run *scaledRun) collected() (collected, error) {
	used, err := run.server.usage()
	if err != nil {
		return collected{}, err
	}
	log, err := os.ReadFile(run.server.log)
	if err != nil {
		return collected{}, err
	}
	// The log has the starts before this one.
	text := string(log[max(0, bytes.LastIndex(log, []byte("\ngc 1 @"))):])
	percent, took := collecting(text)
	return collected{percent, took.Seconds() / used.cpu.Seconds()}, nil
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
