// Package failover measures two replicas of the controllers, of which the leader is killed, ended or stopped.
//
// Each replica reaches the API server through a proxy (proxy.go), which shows who holds the Lease and which
// writes are under way, and can stop the leader at a chosen write. After each failover check.go compares the
// EndpointSlices with the pods.
package failover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/signpostd/signpost/dev/bench/controllers"
	"github.com/signpostd/signpost/dev/bench/measure"
)

// The leader of two replicas dies again and again, always with writes under way.
const (
	failoverKills      = 100
	failoverTerms      = 5
	failoverRate       = 100             // changes of pods a second
	failoverLate       = 10              // Services that appear just before the leader dies
	failoverTrapWithin = 30              // writes, of which one is fatal
	failoverGrace      = 5 * time.Second // from the end of the lease to the next leader's first write
	failoverTermLimit  = 3 * time.Second
	failoverFirst      = time.Second // from becoming the leader to the first write
	failoverSettle     = 30 * time.Second

	// The leader is stopped for pauseFor, beyond its lease, and then watched for pauseWatch.
	pauseFor   = 40 * time.Second
	pauseWatch = 20 * time.Second
)

// leaseTimes are the settings of the election.
type leaseTimes struct{ duration, renew, retry time.Duration }

// vacancy is the longest time from the last renewal until client-go makes a standby the leader: one
// try may come just before the renewal, and another one just before the lease has ended.
func (l leaseTimes) vacancy() time.Duration {
	longest := time.Duration(float64(l.retry) * (1 + leaderelection.JitterFactor))
	return l.duration + 2*longest
}

var (
	shortLease = leaseTimes{3 * time.Second, 2 * time.Second, 500 * time.Millisecond}
	usualLease = leaseTimes{20 * time.Second, 10 * time.Second, 2 * time.Second}
)

// failoverLayout has two slices for most Services, so that changes create and remove slices.
var failoverLayout = controllers.Layout{Namespaces: 2, Services: 10, Pods: 120}

// Benches returns the bench of leaders that end.
func Benches() []measure.Bench {
	return []measure.Bench{{
		Name: "failover", Shows: "two replicas of the controllers, of which the leader ends", Run: measureFailover,
		Halves: []measure.Half{
			{Name: "kills", Shows: "100 leaders are killed while they write", Must: "next write ≤ lease + 5 s, ≤ 3 s after SIGTERM"},
			{Name: "handovers", Shows: "leaders end after SIGTERM, without changes", Must: "one write for each change"},
			{Name: "pause", Shows: "the leader is stopped for longer than its Lease, and continues", Must: "no write after SIGCONT"},
		},
	}}
}

// measureFailover checks what is left of the objects when leaders die.
func measureFailover(ctx context.Context, r *measure.Report, c measure.Options) error {
	k, err := measure.StartCluster(ctx, time.Second)
	if err != nil {
		return err
	}
	defer k.Stop()
	f := &failover{Layout: failoverLayout, choice: c, cluster: k, states: make([]podState, failoverLayout.PodCount())}
	if f.client, err = k.QuickClient(); err != nil {
		return err
	}
	if err := f.Load(ctx, f.client); err != nil {
		return fmt.Errorf("load the cluster: %w", err)
	}
	if err := f.plantForeign(ctx); err != nil {
		return err
	}
	for i, run := range replicas(c) {
		if f.replicas[i], err = newReplica(k, i, run); err != nil {
			return err
		}
		defer f.replicas[i].close()
	}
	f.replicas[0].proxy.rival, f.replicas[1].proxy.rival = f.replicas[1].proxy, f.replicas[0].proxy
	if c.Wants("kills") {
		if err := f.measureKills(ctx, r); err != nil {
			return err
		}
	}
	if c.Wants("handovers") {
		if err := f.measureHandovers(ctx, r); err != nil {
			return err
		}
	}
	if c.Wants("pause") {
		return f.measurePause(ctx, r)
	}
	return nil
}

// replicas returns what starts the two.
func replicas(c measure.Options) [2]controllers.StartFunc {
	if c.Other != "" {
		return [2]controllers.StartFunc{controllers.Challenger(c), controllers.Signpost(c.Other)}
	}
	return [2]controllers.StartFunc{controllers.Challenger(c), controllers.Challenger(c)}
}

// failover is a cluster with two replicas of the controllers.
type failover struct {
	controllers.Layout
	choice   measure.Options
	cluster  *measure.Cluster
	client   *kubernetes.Clientset
	replicas [2]*replica
	foreign  map[string]string // resourceVersion by key
	states   []podState
}

// podState is how a pod differs from what load made of it.
type podState struct{ absent, unready bool }

// toggle makes the pod unready, or ready again, and returns its condition.
func (p *podState) toggle() corev1.ConditionStatus {
	if p.unready = !p.unready; p.unready {
		return corev1.ConditionFalse
	}
	return corev1.ConditionTrue
}

// start starts both replicas and waits until everything is written.
func (f *failover) start(ctx context.Context, lease leaseTimes) error {
	for _, r := range f.replicas {
		if err := r.start(ctx, lease); err != nil {
			return err
		}
	}
	err := f.await(ctx, lease.duration+failoverSettle, func() bool { return f.leader() != nil })
	if err != nil {
		return fmt.Errorf("wait for a leader: %w", err)
	}
	return f.settle(ctx)
}

// leader returns the replica that has the lease, or had it last.
func (f *failover) leader() *replica {
	a, b := f.replicas[0].proxy.lastElected(), f.replicas[1].proxy.lastElected()
	switch {
	case a.IsZero() && b.IsZero():
		return nil
	case a.After(b):
		return f.replicas[0]
	default:
		return f.replicas[1]
	}
}

func (f *failover) other(r *replica) *replica {
	if r == f.replicas[0] {
		return f.replicas[1]
	}
	return f.replicas[0]
}

// measureKills ends leaders, by SIGKILL and by SIGTERM.
func (f *failover) measureKills(ctx context.Context, r *measure.Report) error {
	if err := f.start(ctx, shortLease); err != nil {
		return err
	}
	kills, underWay := f.choice.Scaled(failoverKills, 3), 0
	var killed, ended []time.Duration
	for i := range kills {
		t, err := f.takeover(ctx, f.killMidWrite)
		if err != nil {
			return fmt.Errorf("kill %d: %w", i+1, err)
		}
		killed = append(killed, t.took)
		if t.underWay > 0 {
			underWay++
		}
	}
	for i := range f.choice.Scaled(failoverTerms, 1) {
		t, err := f.takeover(ctx, terminate)
		if err != nil {
			return fmt.Errorf("SIGTERM %d: %w", i+1, err)
		}
		ended = append(ended, t.took)
	}
	slices.Sort(killed)
	slices.Sort(ended)
	fmt.Fprintf(r.Out, "\n%d leaders killed and %d ended, lease of %s, %d changes a second\n", len(killed), len(ended), shortLease.duration, failoverRate)
	r.Note("%d of the kills hit writes under way; after every one of them, and every SIGTERM, all pods were in the slices", underWay)
	r.Note("exactly once, and no foreign slice had changed")
	r.Note("from SIGKILL to the next leader's first write: p50 %.2f s", measure.Quantile(killed, .5)/1000)
	r.AtMost("from SIGKILL to the next leader's first write, worst", "s", killed[len(killed)-1].Seconds(), (shortLease.duration + failoverGrace).Seconds())
	r.AtMost("from SIGTERM to the next leader's first write, worst", "s", ended[len(ended)-1].Seconds(), failoverTermLimit.Seconds())
	f.checkFence(r)
	f.stop()
	return nil
}

func (f *failover) checkFence(r *measure.Report) {
	n := f.replicas[0].proxy.fenceBroken() + f.replicas[1].proxy.fenceBroken()
	r.None("writes by a replica after another one got the lease", n, fmt.Sprint(n))
}

// stop ends both replicas.
func (f *failover) stop() {
	for _, r := range f.replicas {
		r.stop()
	}
}

// taken is one change of leaders.
type taken struct {
	took     time.Duration
	underWay int // writes of the old leader that had no answer
}

// takeover ends the leader in the way given, among changes, waits for the other
// one to write, checks the objects and starts the old leader again.
func (f *failover) takeover(ctx context.Context, end func(context.Context, *replica) (ending, error)) (taken, error) {
	old := f.leader()
	next := f.other(old)
	if err := f.await(ctx, failoverSettle, func() bool { return next.proxy.standsBy() }); err != nil {
		return taken{}, fmt.Errorf("wait for the standby: %w", err)
	}
	var e ending
	err := f.whileChanging(ctx, func(ctx context.Context) error {
		if err := measure.Pause(ctx, upTo(time.Second)); err != nil {
			return err
		}
		late, gctx := errgroup.WithContext(ctx)
		late.Go(func() error { return f.createLate(gctx) })
		var err error
		if e, err = end(ctx, old); err != nil {
			return err
		}
		if err := late.Wait(); err != nil {
			return err
		}
		err = measure.Poll(ctx, shortLease.duration+failoverSettle, func() bool { return next.proxy.wroteAfter(e.at) })
		if err != nil {
			return fmt.Errorf("wait for a write of the next leader: %w", err)
		}
		return measure.Pause(ctx, upTo(500*time.Millisecond))
	})
	if err != nil {
		return taken{}, err
	}
	if err := f.settle(ctx); err != nil {
		return taken{}, err
	}
	if err := f.removeLate(ctx); err != nil {
		return taken{}, err
	}
	if err := old.reap(); err != nil {
		return taken{}, err
	}
	return taken{next.proxy.firstWriteAfter(e.at).Sub(e.at), e.underWay}, old.start(ctx, shortLease)
}

// ending is when a leader was ended, and what it had under way.
type ending struct {
	at       time.Time
	underWay int
}

// killMidWrite kills the leader at a random point: before one of its next writes
// reaches the API server, before the answer reaches the leader, or at any time.
func (f *failover) killMidWrite(ctx context.Context, r *replica) (ending, error) {
	sprung := make(chan ending, 1)
	kill := func() { sprung <- r.kill() }
	if where := rand.IntN(3); where == 2 {
		if err := measure.Pause(ctx, upTo(300*time.Millisecond)); err != nil {
			return ending{}, err
		}
		kill()
	} else {
		r.proxy.setTrap(trap{writes: 1 + rand.IntN(failoverTrapWithin), answered: where == 1, spring: kill})
	}
	select {
	case e := <-sprung:
		return e, nil
	case <-time.After(failoverSettle):
		return ending{}, errors.New("kill the leader: it made too few writes to be killed at one of them")
	case <-ctx.Done():
		return ending{}, ctx.Err()
	}
}

func terminate(ctx context.Context, r *replica) (ending, error) {
	if err := measure.Pause(ctx, upTo(300*time.Millisecond)); err != nil {
		return ending{}, err
	}
	return r.terminate(), nil
}

// measurePause stops the leader for longer than its lease.
func (f *failover) measurePause(ctx context.Context, r *measure.Report) error {
	lease, stopped := usualLease, pauseFor
	if f.choice.Scale < 1 {
		lease, stopped = shortLease, 2*shortLease.duration
	}
	if err := f.start(ctx, lease); err != nil {
		return err
	}
	old := f.leader()
	next := f.other(old)
	var at time.Time
	var before int
	err := f.whileChanging(ctx, func(ctx context.Context) error {
		if err := measure.Pause(ctx, time.Second+upTo(time.Second)); err != nil {
			return err
		}
		at = time.Now()
		old.pause()
		if err := measure.Pause(ctx, stopped); err != nil {
			return err
		}
		before = old.proxy.objectWrites()
		old.goOn()
		return measure.Pause(ctx, pauseWatch)
	})
	if err != nil {
		return err
	}
	if !next.proxy.wroteAfter(at) {
		return errors.New("the standby never wrote while the leader was stopped")
	}
	after := old.proxy.objectWrites() - before
	if err := f.settle(ctx); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "\nLeader stopped for %s with SIGSTOP, lease of %s, %d changes a second\n", stopped, lease.duration, failoverRate)
	r.None("writes that it made after SIGCONT", after, fmt.Sprint(after))
	r.AtMost("from SIGSTOP to the next leader's first write", "s", next.proxy.firstWriteAfter(at).Sub(at).Seconds(), (lease.vacancy() + failoverFirst).Seconds())
	r.Note("all pods were in the slices exactly once in the end; the replica that was stopped %s", old.outcome())
	f.checkFence(r)
	f.stop()
	return nil
}

// await waits until holds returns true. It fails if a replica ends by itself.
func (f *failover) await(ctx context.Context, limit time.Duration, holds func() bool) error {
	var ended error
	err := measure.Poll(ctx, limit, func() bool {
		for _, r := range f.replicas {
			if ended = r.process.Ended(); ended != nil {
				return true
			}
		}
		return holds()
	})
	return errors.Join(err, ended)
}

// upTo returns a random duration.
func upTo(d time.Duration) time.Duration { return time.Duration(rand.Int64N(int64(d))) }
