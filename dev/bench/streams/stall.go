package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// The run with a reader that stalls: one of many streams stops reading for a
// minute under 50 updates a second.
const (
	stallStreams   = 1000
	stallEndpoints = 1000
	stallGap       = 20 * time.Millisecond
	stallFor       = time.Minute
	// stallMemory is by how much the memory of the server may grow while all streams but one stall, and
	// stallExact how long they may take afterwards until they know what holds.
	stallMemory = 64.0 // MiB
	stallExact  = 5 * time.Second
	// manyStalled is how many streams stall to measure what each of them holds in the
	// server: one alone is lost in the noise of the garbage collector.
	manyStalled = 100
)

// measureStall measures what a stream that doesn't read costs the others and
// the server.
func measureStall(ctx context.Context, r *measure.Report, c measure.Options) error {
	l, err := workload.StartLoaded(ctx, stallStreams, stallEndpoints)
	if err != nil {
		return err
	}
	defer l.Stop()
	run := stallRun{l}
	if c.Wants("some") {
		if err := run.measure(ctx, r); err != nil {
			return err
		}
	}
	if c.Wants("all") {
		return run.measureAll(ctx, r)
	}
	return nil
}

type stallRun struct{ *workload.Loaded }

func (run stallRun) measure(ctx context.Context, r *measure.Report) error {
	if _, err := run.churn(ctx, 0); err != nil { // warm up
		return err
	}
	without, err := run.churn(ctx, 0)
	if err != nil {
		return err
	}
	with, err := run.churn(ctx, 1)
	if err != nil {
		return err
	}
	many, err := run.churn(ctx, manyStalled)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "\n%d streams, %d endpoints, %.0f changes a second, one stream stops reading for %s\n",
		stallStreams, stallEndpoints, 1/stallGap.Seconds(), stallFor)
	r.Note("p99 of the others: %.2f ms without a stalled stream, %.2f ms with one, %.2f ms with %d", without.p99, with.p99, many.p99, manyStalled)
	r.AtMost("p99 of the others, beyond that without", "ms", with.p99-without.p99, max(2, .05*without.p99))
	r.AtMost("server heap held by each stalled stream", "kB", (many.heapStalled-many.heapBefore)/1024/manyStalled, 256)
	r.None("the stalled streams were ended", int(run.Streams.Ended.Load()), fmt.Sprintf("%d of %d", run.Streams.Ended.Load(), manyStalled+1))
	r.AtMost("slowest stalled stream is exact after reading again", "s", max(with.exactAfter, many.exactAfter).Seconds(), 1)
	return nil
}

// measureAll measures what the server holds when nobody reads but one stream, which shows when a change has
// been sent.
func (run stallRun) measureAll(ctx context.Context, r *measure.Report) error {
	n := stallStreams - 1
	if _, err := run.churn(ctx, 0); err != nil { // warm up
		return err
	}
	before, err := run.Server.Usage()
	if err != nil {
		return err
	}
	all, err := run.churn(ctx, n)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "\n%d streams, %d endpoints, %.0f changes a second, %d streams stop reading for %s\n",
		stallStreams, stallEndpoints, 1/stallGap.Seconds(), n, stallFor)
	r.Note("p99 of the stream that reads: %.2f ms; server heap held by each stalled stream: %.1f kB", all.p99, (all.heapStalled-all.heapBefore)/1024/float64(n))
	r.AtMost("growth of the server's memory", "MiB", (all.memoryStalled-before.Rss)/(1<<20), stallMemory)
	r.None("the stalled streams were ended", int(run.Streams.Ended.Load()), fmt.Sprintf("%d of %d", run.Streams.Ended.Load(), n))
	r.AtMost("slowest stalled stream is exact after reading again", "s", all.exactAfter.Seconds(), stallExact.Seconds())
	return nil
}

// churned is what one minute of changes showed.
type churned struct {
	p99                     float64
	heapBefore, heapStalled float64
	// memoryStalled is what was resident at the end, before any garbage was collected on demand, in bytes.
	memoryStalled float64
	exactAfter    time.Duration
}

// churn makes changes for stallFor while the last n streams don't read, then
// lets them read and waits until they know exactly what holds.
func (run stallRun) churn(ctx context.Context, n int) (churned, error) {
	var out churned
	var err error
	reading, stalled := run.Streams.Streams[:len(run.Streams.Streams)-n], run.Streams.Streams[len(run.Streams.Streams)-n:]
	if out.heapBefore, err = measure.HeapAfterGC(ctx); err != nil {
		return out, err
	}
	run.Streams.Latencies()
	for _, s := range stalled {
		s.Mu.Lock()
	}
	err = run.changes(ctx, stallStreams-n)
	out.p99 = measure.Quantile(workload.LatenciesOf(reading), .99)
	for _, s := range stalled {
		s.Exact, s.Have = true, knownBefore(run.Toggler)
	}
	var used measure.Usage
	if err == nil {
		used, err = run.Server.Usage()
		out.memoryStalled = used.Rss
	}
	if err == nil {
		out.heapStalled, err = measure.HeapAfterGC(ctx)
	}
	resumed := time.Now()
	for _, s := range stalled {
		s.Mu.Unlock()
	}
	if err != nil {
		return out, err
	}
	err = measure.Poll(ctx, 10*time.Second, func() bool { return run.allExact(stalled) })
	out.exactAfter = time.Since(resumed)
	return out, err
}

// changes makes changes at a steady rate for stallFor, each of which the
// streams that read must have heard of before the next one.
func (run stallRun) changes(ctx context.Context, readers int) error {
	tick := time.NewTicker(stallGap)
	defer tick.Stop()
	end := time.Now().Add(stallFor)
	for time.Now().Before(end) || run.Toggler.Absent {
		if err := run.Streams.Update(ctx, run.Toggler, readers); err != nil {
			return err
		}
		<-tick.C
	}
	// One more change, so that the stalled streams know something else than what holds now.
	return run.Streams.Update(ctx, run.Toggler, readers)
}

// knownBefore returns the addresses that a stream knew before the changes: all, or all but
// the first pod's if that was absent. It is present then if it is absent now, and vice versa.
func knownBefore(t *workload.Toggler) map[uint32]struct{} {
	have := make(map[uint32]struct{}, stallEndpoints)
	for i := range stallEndpoints {
		if i > 0 || t.Absent {
			have[workload.PodNumber(i)] = struct{}{}
		}
	}
	return have
}

func (run stallRun) allExact(streams []*workload.Client) bool {
	want := stallEndpoints
	if run.Toggler.Absent {
		want--
	}
	for _, s := range streams {
		s.Mu.Lock()
		_, has := s.Have[workload.PodNumber(0)]
		exact := len(s.Have) == want && has != run.Toggler.Absent
		s.Mu.Unlock()
		if !exact {
			return false
		}
	}
	return true
}
