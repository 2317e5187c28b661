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
	outageStreams   = 500
	outageEndpoints = 100
	outageFor       = time.Minute
)

// measureOutage measures what streams notice of an API server that is away.
func measureOutage(ctx context.Context, r *report) error {
	k, err := startLoadedCluster(ctx, outageFor, outageEndpoints)
	if err != nil {
		return err
	}
	defer k.stop()
	s, err := startSignpost(ctx, k)
	if err != nil {
		return err
	}
	defer s.stop()
	all, err := open(ctx, s.addr, outageStreams, outageEndpoints)
	if err != nil {
		return err
	}
	defer all.close()
	if err := k.killAPIServer(); err != nil {
		return err
	}
	o := outage{cluster: k, all: all, killed: time.Now()}
	if err := o.watch(ctx); err != nil {
		return err
	}
	fresh, err := o.recover(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "\n%d streams, API server killed and away for %s\n", outageStreams, o.away.Round(time.Second))
	r.none("streams that ended", int(all.ended.Load()), fmt.Sprint(all.ended.Load()))
	r.none("addresses removed without cause", int(all.removedOthers.Load()), fmt.Sprint(all.removedOthers.Load()))
	r.none("/ready said no", o.notReady, fmt.Sprintf("%d of %d times", o.notReady, o.asked))
	r.check("kube_table_stale_seconds rose to", o.stale, outageFor.Seconds()/2, math.Inf(1), fmt.Sprintf("%.0f s", o.stale))
	r.atMost("new streams are served while it is away", "s", o.newStreams.Seconds(), 1)
	r.atMost("a change after its return reaches all streams", "s", fresh.Seconds(), 5)
	return nil
}

type outage struct {
	cluster *cluster
	all     *clients
	killed  time.Time

	away, newStreams time.Duration
	notReady, asked  int
	stale            float64
}

// watch looks at the server until the API server is back.
func (o *outage) watch(ctx context.Context) error {
	if err := pause(ctx, outageFor/2); err != nil {
		return err
	}
	begun := time.Now()
	more, err := open(ctx, signpostAddr, perConnection, outageEndpoints)
	if err != nil {
		return fmt.Errorf("open streams while the API server is away: %w", err)
	}
	o.newStreams = time.Since(begun)
	more.close()
	for !o.apiServerUp(ctx) {
		if err := o.look(ctx); err != nil {
			return err
		}
		if time.Since(o.killed) > outageFor+time.Minute {
			return fmt.Errorf("wait for the API server to come back: %w", errTimeout)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	o.away = time.Since(o.killed)
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

func (o *outage) apiServerUp(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return o.cluster.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
}

// recover makes a change and returns how long the streams took to hear of it.
func (o *outage) recover(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	t := &toggler{client: o.cluster.client, endpoints: outageEndpoints}
	o.all.expect(t)
	var failed error
	if err := poll(ctx, 10*time.Second, func() bool { failed = t.next(ctx); return failed == nil }); err != nil {
		return 0, failed
	}
	err := poll(ctx, 90*time.Second, func() bool { return o.all.seen.Load() >= outageStreams })
	return time.Since(begun), err
}
