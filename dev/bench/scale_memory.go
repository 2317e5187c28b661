package main

import (
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
	if err := measureUnlimited(ctx, r, c, k); err != nil {
		return err
	}
	return measureLimited(ctx, r, k)
}

func measureUnlimited(ctx context.Context, r *report, c choice, k *simulatedCluster) error {
	run, err := startScaled(ctx, k)
	if err != nil {
		return err
	}
	defer run.server.stop()
	peak, err := run.server.peakMemory()
	if err != nil {
		return err
	}
	if err := pause(ctx, settling(c)); err != nil {
		return err
	}
	steady, err := run.server.usage()
	if err != nil {
		return err
	}
	later, err := run.server.peakMemory()
	if err != nil {
		return err
	}
	heap, err := heapAfterGC(ctx)
	if err != nil {
		return err
	}
	r.note("peak %.0f MiB until ready, %.0f MiB later; live heap %.0f MiB, %.0f bytes for each pod with all that belongs to it",
		peak/mebibyte, later/mebibyte, heap/mebibyte, heap/float64(k.podCount()))
	r.note("ready after %.1f s, with %.1f s of CPU", run.ready.Seconds(), run.begun.cpu.Seconds())
	r.atMost("memory, steady", "MiB", steady.rss/mebibyte, 450)
	r.atMost("peak of the start, beside steady", "×", max(peak, later)/steady.rss, 1.5)
	return nil
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
func measureLimited(ctx context.Context, r *report, k *simulatedCluster) error {
	run, err := startScaled(ctx, k, "GOMEMLIMIT=500MiB", "GODEBUG=gctrace=1")
	if err != nil {
		return err
	}
	defer run.server.stop()
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	peak, err := run.server.peakMemory()
	if err != nil {
		return err
	}
	used, err := run.server.usage()
	if err != nil {
		return err
	}
	log, err := os.ReadFile(run.server.log)
	if err != nil {
		return err
	}
	share := collecting(string(log)).Seconds() / used.cpu.Seconds()
	r.note("with GOMEMLIMIT=500MiB: peak %.0f MiB; ready after %.1f s, with %.1f s of CPU", peak/mebibyte, run.ready.Seconds(), run.begun.cpu.Seconds())
	r.atMost("share of garbage collection in its CPU", "%", 100*share, 25)
	return nil
}

// gcLine is a line of GODEBUG=gctrace=1: the CPU times are those of the pauses, and between
// them of the goroutines that allocated, of the collector, and of the collector on cores that
// had nothing else to do.
var gcLine = regexp.MustCompile(`(?m)^gc \d+ @.* ms clock, ([\d.]+)\+([\d.]+)/([\d.]+)/[\d.]+\+([\d.]+) ms cpu,`)

// collecting returns how much CPU time garbage collection took, as a log says, without that of
// cores that had nothing else to do.
func collecting(log string) time.Duration {
	var sum float64
	for _, line := range gcLine.FindAllStringSubmatch(log, -1) {
		for _, text := range line[1:] {
			ms, _ := strconv.ParseFloat(text, 64) // the expression lets only numbers through, or what is none: 0
			sum += ms
		}
	}
	return time.Duration(sum * float64(time.Millisecond))
}
