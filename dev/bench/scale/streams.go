package scale

import (
	"context"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/mesh"
)

const (
	// scaledProxies is how many proxies connect.
	scaledProxies = 2000
	// busyFor is how long there are changes beside many streams.
	busyFor = time.Minute
)

// measureStreams measures what streams that say nothing cost in a large cluster.
func measureStreams(ctx context.Context, r *measure.Report, c measure.Options) error {
	run, err := startLarge(ctx, c)
	if err != nil {
		return err
	}
	defer run.stop()
	k := run.cluster
	before, err := run.settled(ctx, c)
	if err != nil {
		return err
	}
	m := &mesh.Mesh{Size: k.Size, Addr: run.server.Addr, Proxies: c.Scaled(scaledProxies, 10), Profiles: true}
	defer m.Close()
	if err := m.Open(ctx, 20*time.Second); err != nil {
		return err
	}
	open, err := run.server.Usage()
	if err != nil {
		return err
	}
	after, err := run.settled(ctx, c)
	if err != nil {
		return err
	}
	peak, err := run.server.PeakMemory()
	if err != nil {
		return err
	}
	n := float64(len(m.Streams))
	r.TitleBeside("", "%s; %d streams on %d connections, half of them GetProfile, each Service asked for by %.1f Get streams",
		k.Size, len(m.Streams), m.Proxies, n/2/float64(k.Services))
	r.AtMost("memory with streams", "MiB", after.Rss/measure.Mebibyte, 1024)
	r.AtMost("memory for each stream, with its share of a connection", "KiB", (after.Rss-before.Rss)/1024/n, 40)
	r.None("streams that failed", int(m.Ended.Load()), mesh.Failures(m))
	r.Note("%.0f MiB before the streams, %.0f MiB at the peak; for each stream %.1f KiB of live heap, %.1f KiB of stacks, and %.0f µs of CPU",
		before.Rss/measure.Mebibyte, peak/measure.Mebibyte, (after.heap-before.heap)/1024/n, (after.stacks-before.stacks)/1024/n, float64((open.Cpu-before.Cpu).Microseconds())/n)
	return measureBusyStreams(ctx, r, c, run)
}

// measureBusyStreams measures memory while there are changes, which make garbage.
func measureBusyStreams(ctx context.Context, r *measure.Report, c measure.Options, run *run) error {
	k := run.cluster
	listening := &mesh.Mesh{Size: k.Size, Addr: run.server.Addr, First: c.Scaled(scaledProxies, 10), Proxies: min(c.Scaled(churnProxies, 10), k.Services/mesh.StreamsPerProxy)}
	defer listening.Close()
	if err := listening.Open(ctx, 5*time.Second); err != nil {
		return err
	}
	if err := run.server.ForgetPeak(); err != nil {
		return err
	}
	ch := newChurn(k, listening, churnRate)
	if err := ch.play(ctx, c.Share(busyFor)); err != nil {
		return err
	}
	inexact := ch.heardAll(ctx, 20*time.Second)
	peak, err := run.server.PeakMemory()
	if err != nil {
		return err
	}
	r.Note("with %d more streams and %d changes a second for %s: %.0f MiB at the peak; %d streams don't know in the end what they should",
		len(listening.Streams), churnRate, c.Share(busyFor), peak/measure.Mebibyte, inexact)
	return nil
}

// settledUsage is a usage when memory is steady, with the bytes of the live heap and of stacks.
type settledUsage struct {
	measure.Usage
	heap, stacks float64
}

// settled waits until memory is steady.
func (run *run) settled(ctx context.Context, c measure.Options) (settledUsage, error) {
	if err := measure.Pause(ctx, settling(c)); err != nil {
		return settledUsage{}, err
	}
	u, err := run.server.Usage()
	if err != nil {
		return settledUsage{}, err
	}
	heap, err := measure.HeapAfterGC(ctx)
	if err != nil {
		return settledUsage{}, err
	}
	// Asking for the heap took CPU time.
	after, err := run.server.Usage()
	if err != nil {
		return settledUsage{}, err
	}
	stacks, err := measure.Metric(ctx, "go_memstats_stack_inuse_bytes")
	if len(stacks) != 1 {
		return settledUsage{}, fmt.Errorf("read go_memstats_stack_inuse_bytes: found %d values (%w)", len(stacks), err)
	}
	return settledUsage{measure.Usage{Cpu: after.Cpu, Rss: u.Rss}, heap, stacks[0]}, err
}
