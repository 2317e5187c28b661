package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// scaledProxies is how many proxies connect.
	scaledProxies = 2000
	// busyFor is how long there are changes beside many streams.
	busyFor = time.Minute
)

// measureScaledStreams measures what streams that say nothing cost in a large cluster.
func measureScaledStreams(ctx context.Context, r *report, c choice) error {
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
	m := &mesh{simulated: k.simulated, addr: run.server.addr, proxies: c.scaled(scaledProxies, 10), profiles: true}
	defer m.close()
	if err := m.open(ctx, 20*time.Second); err != nil {
		return err
	}
	open, err := run.server.usage()
	if err != nil {
		return err
	}
	after, err := run.settled(ctx, c)
	if err != nil {
		return err
	}
	peak, err := run.server.peakMemory()
	if err != nil {
		return err
	}
	n := float64(len(m.streams))
	r.titleBeside("", "%s; %d streams on %d connections, half of them GetProfile, each Service asked for by %.1f Get streams",
		k.simulated, len(m.streams), m.proxies, n/2/float64(k.services))
	r.atMost("memory with streams", "MiB", after.rss/mebibyte, 1024)
	r.atMost("memory for each stream, with its share of a connection", "KiB", (after.rss-before.rss)/1024/n, 40)
	r.none("streams that failed", int(m.ended.Load()), failures(m))
	r.note("%.0f MiB before the streams, %.0f MiB at the peak; for each stream %.1f KiB of live heap, %.1f KiB of stacks, and %.0f µs of CPU",
		before.rss/mebibyte, peak/mebibyte, (after.heap-before.heap)/1024/n, (after.stacks-before.stacks)/1024/n, float64((open.cpu-before.cpu).Microseconds())/n)
	return measureBusyStreams(ctx, r, c, run)
}

// measureBusyStreams measures memory while there are changes, which make garbage.
func measureBusyStreams(ctx context.Context, r *report, c choice, run *scaledRun) error {
	k := run.cluster
	listening := &mesh{simulated: k.simulated, addr: run.server.addr, first: c.scaled(scaledProxies, 10), proxies: min(c.scaled(churnProxies, 10), k.services/streamsPerProxy)}
	defer listening.close()
	if err := listening.open(ctx, 5*time.Second); err != nil {
		return err
	}
	if err := run.server.forgetPeak(); err != nil {
		return err
	}
	ch := newChurn(k, listening, churnRate)
	if err := ch.play(ctx, c.share(busyFor)); err != nil {
		return err
	}
	inexact := ch.heardAll(ctx, 20*time.Second)
	peak, err := run.server.peakMemory()
	if err != nil {
		return err
	}
	r.note("with %d more streams and %d changes a second for %s: %.0f MiB at the peak; %d streams don't know in the end what they should",
		len(listening.streams), churnRate, c.share(busyFor), peak/mebibyte, inexact)
	return nil
}

func failures(m *mesh) string {
	if err := m.failed(); err != nil {
		return fmt.Sprintf("%d: %v", m.ended.Load(), err)
	}
	return "0"
}

// settledUsage is a usage when memory is steady, with the bytes of the live heap and of stacks.
type settledUsage struct {
	usage
	heap, stacks float64
}

// settled waits until memory is steady.
func (run *scaledRun) settled(ctx context.Context, c choice) (settledUsage, error) {
	if err := pause(ctx, settling(c)); err != nil {
		return settledUsage{}, err
	}
	u, err := run.server.usage()
	if err != nil {
		return settledUsage{}, err
	}
	heap, err := heapAfterGC(ctx)
	if err != nil {
		return settledUsage{}, err
	}
	// Asking for the heap took CPU time.
	after, err := run.server.usage()
	if err != nil {
		return settledUsage{}, err
	}
	stacks, err := metric(ctx, "go_memstats_stack_inuse_bytes")
	if len(stacks) != 1 {
		return settledUsage{}, fmt.Errorf("read go_memstats_stack_inuse_bytes: found %d values (%w)", len(stacks), err)
	}
	return settledUsage{usage{after.cpu, u.rss}, heap, stacks[0]}, err
}
