package scale

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/mesh"
)

const (
	// reconnectScale is how large the cluster is, beside that of the other parts.
	reconnectScale = 0.25
	// reconnectProxies have five thousand streams: as many come as there are.
	reconnectProxies = 500
	reconnectSpread  = time.Second
	reconnectMemory  = 512
)

// measureReconnect measures what happens when all proxies of another replica, which has as many as this one,
// come within a second.
func measureReconnect(ctx context.Context, r *measure.Report, c measure.Options) error {
	c.Scale *= reconnectScale
	run, err := startLarge(ctx, c)
	if err != nil {
		return err
	}
	defer run.stop()
	k := run.cluster
	stay := &mesh.Mesh{Size: k.Size, Addr: run.server.Addr, First: reconnectProxies, Proxies: reconnectProxies, Profiles: true}
	defer stay.Close()
	if err := stay.Open(ctx, 5*time.Second); err != nil {
		return err
	}
	if err := run.server.ForgetPeak(); err != nil {
		return err
	}
	before, err := run.server.Usage()
	if err != nil {
		return err
	}
	came, leave, err := stormProxies{k.Size, run.server.Addr, reconnectProxies, reconnectSpread}.come(ctx, k.Dir)
	if err != nil {
		return err
	}
	defer leave()
	peak, err := run.server.PeakMemory()
	if err != nil {
		return err
	}
	slices.Sort(came.First)
	streams := reconnectProxies * mesh.StreamsPerProxy
	fmt.Fprintf(r.Out, "\n%s; %d streams come within %s, beside as many\n", k.Size, streams, reconnectSpread)
	r.AtMost("until the last stream has its first answer", "s", came.Took.Seconds(), 5)
	r.Note("from the connection to the first answer: p50 %.1f ms, p99 %.1f ms", measure.Quantile(came.First, .5), measure.Quantile(came.First, .99))
	r.None("streams that failed; with RESOURCE_EXHAUSTED", int(came.Failed+came.Exhausted+stay.Ended.Load()), fmt.Sprintf("%d; %d", came.Failed, came.Exhausted))
	r.AtMost(fmt.Sprintf("memory at the peak, beside %.0f MiB before", before.Rss/measure.Mebibyte), "×", peak/before.Rss, 2)
	r.AtMost("memory at the peak", "MiB", peak/measure.Mebibyte, reconnectMemory)
	return nil
}
