package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// reconnectScale is how large the cluster is, beside that of the other parts.
	reconnectScale = 0.25
	// reconnectProxies have five thousand streams: as many come as there are.
	reconnectProxies = 500
	reconnectSpread  = time.Second
	reconnectMemory  = 512
)

// measureReconnect measures what happens when all proxies of another replica, which has as many as this one, come within a
// second.
func measureReconnect(ctx context.Context, r *report, c choice) error {
	c.scale *= reconnectScale
	run, err := startLarge(ctx, c)
	if err != nil {
		return err
	}
	defer run.stop()
	k := run.cluster
	stay := &mesh{simulated: k.simulated, addr: run.server.addr, first: reconnectProxies, proxies: reconnectProxies, profiles: true}
	defer stay.close()
	if err := stay.open(ctx, 5*time.Second); err != nil {
		return err
	}
	if err := run.server.forgetPeak(); err != nil {
		return err
	}
	before, err := run.server.usage()
	if err != nil {
		return err
	}
	came, leave, err := herdProxies{k.simulated, run.server.addr, reconnectProxies, reconnectSpread}.come(ctx, k.dir)
	if err != nil {
		return err
	}
	defer leave()
	peak, err := run.server.peakMemory()
	if err != nil {
		return err
	}
	slices.Sort(came.First)
	streams := reconnectProxies * streamsPerProxy
	fmt.Fprintf(r.out, "\n%s; %d streams come within %s, beside as many\n", k.simulated, streams, reconnectSpread)
	r.atMost("until the last stream has its first answer", "s", came.Took.Seconds(), 5)
	r.note("from the connection to the first answer: p50 %.1f ms, p99 %.1f ms", quantile(came.First, .5), quantile(came.First, .99))
	r.none("streams that failed; with RESOURCE_EXHAUSTED", int(came.Failed+came.Exhausted+stay.ended.Load()), fmt.Sprintf("%d; %d", came.Failed, came.Exhausted))
	r.atMost(fmt.Sprintf("memory at the peak, beside %.0f MiB before", before.rss/mebibyte), "×", peak/before.rss, 2)
	r.atMost("memory at the peak", "MiB", peak/mebibyte, reconnectMemory)
	return nil
}
