// Package outage measures streams whose API server is unreachable: what they lose meanwhile, and how soon
// changes arrive afterwards.
//
// It needs a real API server with a real etcd, because watches must break and revisions be compacted as they
// do in production (cluster.go). The objects and the proxies are those of packages simulation and mesh.
package outage

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/mesh"
	"github.com/signpostd/signpost/dev/bench/workload"
	"github.com/signpostd/signpost/dev/clienttest"
)

// The API server is killed under open streams, and comes back a minute later.
const (
	outageFor = time.Minute
	// outageLook is how often Signpost and the API server are looked at meanwhile.
	outageLook = 100 * time.Millisecond
	// outageComers are proxies that connect meanwhile.
	outageComers = 10
)

// Benches returns the benches of streams whose API server is unreachable.
func Benches() []measure.Bench {
	return []measure.Bench{
		{
			Name: "outage", Shows: "the API server is killed and unreachable for 60 s, under 5,000 streams",
			Must: "no stream ends, nothing is removed, changes arrive within 8 s (p99)", Run: measureOutage,
		},
		{
			Name: "compaction", Shows: "etcd was compacted, and 1,000 pods replaced, while the API server was unreachable",
			Must: "one list of each kind, removed within 8 s, memory ≤ 1.5 ×", Run: measureCompaction,
		},
	}
}

// measureOutage measures what streams notice of an API server that is unreachable.
func measureOutage(ctx context.Context, r *measure.Report, _ measure.Options) error {
	k, err := startReal(ctx, outageFor, 0)
	if err != nil {
		return err
	}
	defer k.Stop()
	s, err := workload.StartSignpost(ctx, k.Cluster)
	if err != nil {
		return err
	}
	defer s.Stop()
	all, err := k.open(ctx, s)
	if err != nil {
		return err
	}
	defer all.Close()
	if err := k.KillAPIServer(); err != nil {
		return err
	}
	o := outage{cluster: k, all: all, killed: time.Now()}
	if err := o.watch(ctx); err != nil {
		return err
	}
	if err := o.change(ctx); err != nil {
		return err
	}
	o.print(r)
	return nil
}

type outage struct {
	cluster          *realCluster
	all              *mesh.Mesh
	killed, returned time.Time

	// comers are the streams that were opened meanwhile.
	comers          *mesh.Mesh
	notReady, asked int
	stale           float64
	// removed is how many addresses were removed until the API server was back.
	removed int
	// written is when the write of the change of each Service began, and inexact how many streams didn't hear
	// of one.
	written []time.Time
	inexact int
}

// watch looks at the server until the API server is back.
func (o *outage) watch(ctx context.Context) error {
	for o.returned.IsZero() {
		if err := measure.Pause(ctx, outageLook); err != nil {
			return err
		}
		if err := o.look(ctx); err != nil {
			return err
		}
		outage := time.Since(o.killed)
		if o.comers == nil && outage > outageFor/2 {
			if err := o.come(ctx); err != nil {
				return err
			}
		}
		if o.cluster.Serves(ctx) {
			o.returned = time.Now()
		}
		if outage > outageFor+time.Minute {
			return fmt.Errorf("wait for the API server to come back: %w", measure.ErrTimeout)
		}
	}
	o.removed, _ = o.all.Removals()
	return nil
}

func (o *outage) look(ctx context.Context) error {
	o.asked++
	if clienttest.Ready(ctx, measure.AdminAddr) != nil {
		o.notReady++
	}
	stale, err := measure.Metric(ctx, "kube_table_stale_seconds")
	if len(stale) > 0 {
		o.stale = max(o.stale, slices.Max(stale))
	}
	return err
}

// come opens streams while the API server is unreachable.
func (o *outage) come(ctx context.Context) error {
	o.comers = &mesh.Mesh{Size: o.cluster.Size, Addr: o.all.Addr, First: realProxies, Proxies: outageComers}
	defer o.comers.Close()
	if err := o.comers.Open(ctx, time.Second); err != nil {
		return fmt.Errorf("open streams while the API server is unreachable: %w", err)
	}
	return nil
}

// change takes a pod out of each Service and waits until all streams have received it.
func (o *outage) change(ctx context.Context) error {
	o.written = make([]time.Time, o.cluster.Services)
	err := measure.ForEach(ctx, o.cluster.Services, func(ctx context.Context, svc int) error {
		o.written[svc] = time.Now()
		return o.cluster.updateSlice(ctx, svc, 1, o.cluster.first)
	})
	o.inexact = o.all.Settle(ctx, 30*time.Second, within(1, o.cluster.first))
	return err
}

// latencies returns how long the changes took to reach the streams, sorted.
func (o *outage) latencies() []time.Duration {
	var took []time.Duration
	for _, s := range o.all.Streams {
		s.Mu.Lock()
		if !s.Removed.IsZero() {
			took = append(took, s.Removed.Sub(o.written[s.Service]))
		}
		s.Mu.Unlock()
	}
	slices.Sort(took)
	return took
}

func (o *outage) print(r *measure.Report) {
	streams := len(o.all.Streams)
	r.TitleBeside("", "%d streams on %d connections, %d Services of %d endpoints; the API server is killed, and unreachable for %s",
		streams, o.all.Proxies, o.cluster.Services, o.cluster.first, o.returned.Sub(o.killed).Round(time.Second))
	r.None("streams that ended", int(o.all.Ended.Load()), mesh.Failures(o.all))
	r.None("addresses removed meanwhile", o.removed, fmt.Sprint(o.removed))
	r.None("/ready said no", o.notReady, fmt.Sprintf("%d of %d times", o.notReady, o.asked))
	r.Check("kube_table_stale_seconds rose to", o.stale, outageFor.Seconds()-5, math.Inf(1), fmt.Sprintf("%.0f s", o.stale))
	came := o.comers.FirstAnswers()
	r.None("new streams that were refused meanwhile", len(o.comers.Streams)-len(came), fmt.Sprintf("%d of %d", len(o.comers.Streams)-len(came), len(o.comers.Streams)))
	r.AtMost("new streams are served meanwhile within", "ms", measure.Quantile(came, 1), 100)
	took := o.latencies()
	r.AtMost("p99 from a change after its return to a stream", "s", measure.Quantile(took, .99)/1000, 8)
	r.AtMost("max", "s", measure.Quantile(took, 1)/1000, 12)
	removals, last := o.all.Removals()
	r.None("streams that don't know in the end what they should", o.inexact, fmt.Sprint(o.inexact))
	r.None("addresses removed that still exist", removals-streams, fmt.Sprint(removals-streams))
	r.Note("the first change was written %.2f s after /readyz returned, the last one %.2f s; the last stream heard of one after %.2f s",
		slices.MinFunc(o.written, time.Time.Compare).Sub(o.returned).Seconds(), slices.MaxFunc(o.written, time.Time.Compare).Sub(o.returned).Seconds(), last.Sub(o.returned).Seconds())
}
