package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// The API server is killed under open streams, and comes back a minute later.
const (
	outageFor = time.Minute
	// outageLook is how often Signpost and the API server are looked at meanwhile.
	outageLook = 100 * time.Millisecond
	// outageComers are proxies that connect meanwhile.
	outageComers = 10
)

// measureOutage measures what streams notice of an API server that is away.
func measureOutage(ctx context.Context, r *report) error {
	k, err := startReal(ctx, outageFor, 0)
	if err != nil {
		return err
	}
	defer k.stop()
	s, err := startSignpost(ctx, k.cluster)
	if err != nil {
		return err
	}
	defer s.stop()
	all, err := k.open(ctx, s)
	defer all.close()
	if err != nil {
		return err
	}
	if err := k.killAPIServer(); err != nil {
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
	all              *mesh
	killed, returned time.Time

	// comers are the streams that were opened meanwhile.
	comers          *mesh
	notReady, asked int
	stale           float64
	// removed is how many addresses were removed until the API server was back.
	removed int
	// written is when the write of the change of each Service began, and inexact how many streams didn't hear of one.
	written []time.Time
	inexact int
}

// watch looks at the server until the API server is back.
func (o *outage) watch(ctx context.Context) error {
	for o.returned.IsZero() {
		if err := pause(ctx, outageLook); err != nil {
			return err
		}
		if err := o.look(ctx); err != nil {
			return err
		}
		away := time.Since(o.killed)
		if o.comers == nil && away > outageFor/2 {
			if err := o.come(ctx); err != nil {
				return err
			}
		}
		if o.cluster.serves(ctx) {
			o.returned = time.Now()
		}
		if away > outageFor+time.Minute {
			return fmt.Errorf("wait for the API server to come back: %w", errTimeout)
		}
	}
	o.removed, _ = o.all.removals()
	return nil
}

func (o *outage) look(ctx context.Context) error {
	code, _, err := adminGet(ctx, "/ready")
	if err != nil {
		return err
	}
	o.asked++
	if code != 200 {
		o.notReady++
	}
	stale, err := metric(ctx, "kube_table_stale_seconds")
	if len(stale) > 0 {
		o.stale = max(o.stale, slices.Max(stale))
	}
	return err
}

// come opens streams while the API server is away.
func (o *outage) come(ctx context.Context) error {
	o.comers = &mesh{simulated: o.cluster.simulated, addr: o.all.addr, first: realProxies, proxies: outageComers}
	defer o.comers.close()
	if err := o.comers.open(ctx, time.Second); err != nil {
		return fmt.Errorf("open streams while the API server is away: %w", err)
	}
	return nil
}

// change takes a pod out of each Service and waits until all streams have heard of it.
func (o *outage) change(ctx context.Context) error {
	o.written = make([]time.Time, o.cluster.services)
	err := each(ctx, o.cluster.services, func(ctx context.Context, svc int) error {
		o.written[svc] = time.Now()
		return o.cluster.updateSlice(ctx, svc, 1, o.cluster.first)
	})
	o.inexact = o.all.settle(ctx, 30*time.Second, within(1, o.cluster.first))
	return err
}

// latencies returns how long the changes took to reach the streams, sorted.
func (o *outage) latencies() []time.Duration {
	var took []time.Duration
	for _, s := range o.all.streams {
		s.mu.Lock()
		if !s.removed.IsZero() {
			took = append(took, s.removed.Sub(o.written[s.service]))
		}
		s.mu.Unlock()
	}
	slices.Sort(took)
	return took
}

func (o *outage) print(r *report) {
	streams := len(o.all.streams)
	r.titleBeside("", "%d streams on %d connections, %d Services of %d endpoints; the API server is killed, and away for %s",
		streams, o.all.proxies, o.cluster.services, o.cluster.first, o.returned.Sub(o.killed).Round(time.Second))
	r.none("streams that ended", int(o.all.ended.Load()), failures(o.all))
	r.none("addresses removed meanwhile", o.removed, fmt.Sprint(o.removed))
	r.none("/ready said no", o.notReady, fmt.Sprintf("%d of %d times", o.notReady, o.asked))
	r.check("kube_table_stale_seconds rose to", o.stale, outageFor.Seconds()-5, math.Inf(1), fmt.Sprintf("%.0f s", o.stale))
	came := o.comers.firstAnswers()
	r.none("new streams that were refused meanwhile", len(o.comers.streams)-len(came), fmt.Sprintf("%d of %d", len(o.comers.streams)-len(came), len(o.comers.streams)))
	r.atMost("new streams are served meanwhile within", "ms", quantile(came, 1), 100)
	took := o.latencies()
	r.atMost("p99 from a change after its return to a stream", "s", quantile(took, .99)/1000, 8)
	r.atMost("max", "s", quantile(took, 1)/1000, 12)
	removals, last := o.all.removals()
	r.none("streams that don't know in the end what they should", o.inexact, fmt.Sprint(o.inexact))
	r.none("addresses removed that still exist", removals-streams, fmt.Sprint(removals-streams))
	r.note("the first change was written %.2f s after /readyz returned, the last one %.2f s; the last stream heard of one after %.2f s",
		slices.MinFunc(o.written, time.Time.Compare).Sub(o.returned).Seconds(), slices.MaxFunc(o.written, time.Time.Compare).Sub(o.returned).Seconds(), last.Sub(o.returned).Seconds())
}
