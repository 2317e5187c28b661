// Package abuse measures what attacks by clients and tenants on a Destination server cost its other clients.
//
// An attack runs in a process of its own (attack.go), which speaks raw HTTP/2 where a gRPC client would keep
// the protocol (frames.go), or edits objects as a tenant may (tenant.go). Beside it, well-behaved streams
// measure when changes arrive, and canary.go measures changes of a Service.
package abuse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// Well-behaved streams of a Service that changes at a steady pace, while others attack the server, one attack
// after the other.
const (
	abuseStreams   = 1000
	abuseEndpoints = 1000
	abuseGap       = 250 * time.Millisecond // between two changes
	abuseWarm      = 5 * time.Second
	abuseWithout   = 10 * time.Second
	abuseWith      = 15 * time.Second
	// abuseUpdateWithin is how long an update may take before it counts as lost.
	abuseUpdateWithin = 20 * time.Second
	abuseSlowest      = 1000 // ms

	// What an attack may cost the server, beside what it used before.
	abusePeakTimes, abusePeakMore   = 1.5, 64 << 20
	abuseAfterTimes, abuseAfterMore = 1.15, 16 << 20
	abuseLogPerMinute               = 1e6
	// abuseBackWithin is how long the memory may take to come back: the runtime returns it slowly.
	abuseBackWithin = time.Minute
	abuseCollect    = 3 * time.Second

	// abuseNice is the niceness of the attackers, which share the machine with the server, the API server and
	// the well-behaved clients. They also use one core at most: what is measured is what an attack makes the
	// server do, not what it costs to attack.
	abuseNice = 10
)

// Benches returns the bench of attacks. Each attack is a half.
func Benches() []measure.Bench {
	b := measure.Bench{
		Name: "abuse", Shows: "1,000 streams while others attack the server",
		Must: "no stream ends, updates ≤ 1 s, memory ≤ 1.5 × + 64 MB, log ≤ 1 MB a minute", Run: measureAbuse,
	}
	for _, a := range attacks {
		b.Halves = append(b.Halves, measure.Half{Name: a.name, Shows: a.what})
	}
	return []measure.Bench{b}
}

// measureAbuse measures what attacks on a Destination server cost the others. The halves are the attacks.
func measureAbuse(ctx context.Context, r *measure.Report, c measure.Options) error {
	k, err := workload.StartLoadedCluster(ctx, time.Second, abuseEndpoints)
	if err != nil {
		return err
	}
	defer k.Stop()
	for _, a := range attacks {
		if !c.Wants(a.name) {
			continue
		}
		if err := measureAttack(ctx, r, k, a); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return nil
}

// run is a server under one attack.
type run struct {
	cluster *measure.Cluster
	server  *measure.Server
	all     *workload.Clients
	toggler *workload.Toggler
	canary  *canary
}

func measureAttack(ctx context.Context, r *measure.Report, k *measure.Cluster, a attack) error {
	run, err := newAbuseRun(ctx, k)
	if err != nil {
		return err
	}
	defer run.close()
	fmt.Fprintf(r.Out, "\n%s: %s; %d well-behaved streams, %d endpoints, %.0f changes a second\n",
		a.name, a.what, abuseStreams, abuseEndpoints, 1/abuseGap.Seconds())
	if _, err := run.changes(ctx, abuseWarm); err != nil {
		return err
	}
	without, err := run.changes(ctx, abuseWithout)
	if err != nil {
		return err
	}
	with, err := run.attacked(ctx, a)
	if err != nil {
		return err
	}
	run.report(r, without, with)
	return nil
}

// newAbuseRun starts a server of its own, so that an attack doesn't begin with what the one before left
// behind.
func newAbuseRun(ctx context.Context, k *measure.Cluster) (*run, error) {
	run := &run{cluster: k, toggler: &workload.Toggler{Client: k.Client, Endpoints: abuseEndpoints}}
	// The changes begin with all pods, whatever the last attack removed.
	if err := run.toggler.Reset(ctx); err != nil {
		return nil, err
	}
	var err error
	if run.server, err = workload.StartSignpost(ctx, k); err != nil {
		return nil, err
	}
	if run.all, err = workload.Open(ctx, run.server.Addr, abuseStreams, abuseEndpoints); err != nil {
		run.close()
		return nil, err
	}
	if run.canary, err = newCanary(ctx, k.Client, run.server.Addr); err != nil {
		run.close()
		return nil, err
	}
	return run, nil
}

func (run *run) close() {
	if run.canary != nil {
		run.canary.close()
	}
	if run.all != nil {
		run.all.Close()
	}
	run.server.Stop()
	_ = os.Remove(run.server.Log) // an attack may have filled it
}

// delays are those from the API write to the streams, in milliseconds.
type delays struct{ p50, p99, slowest, slowestService float64 }

// String returns the median, p99 and slowest delay.
func (d delays) String() string {
	return fmt.Sprintf("%.1f / %.1f / %.0f ms", d.p50, d.p99, d.slowest)
}

// changes makes changes at a steady pace, and the canary beside them. It stops early if the server has ended,
// or an update is lost.
func (run *run) changes(ctx context.Context, d time.Duration) (delays, error) {
	var g errgroup.Group
	var slowest time.Duration
	g.Go(func() (err error) {
		slowest, err = run.canary.changeFor(ctx, d)
		return err
	})
	found, err := run.endpointChanges(ctx, d)
	err = errors.Join(err, g.Wait())
	found.slowestService = measure.Ms(slowest)
	return found, err
}

// endpointChanges makes changes of endpoints. Delays count from when a change was due, so that one that takes
// long makes those late that wait behind it.
func (run *run) endpointChanges(ctx context.Context, d time.Duration) (delays, error) {
	run.all.Latencies()
	var lost time.Duration
	for due, end := time.Now(), time.Now().Add(d); due.Before(end) && run.server.Ended() == nil; due = due.Add(abuseGap) {
		if err := measure.Pause(ctx, time.Until(due)); err != nil {
			return delays{}, err
		}
		run.all.Expect(run.toggler)
		run.all.Since.Store(due.UnixNano())
		if err := run.toggler.Next(ctx); err != nil {
			return delays{}, err
		}
		err := measure.Poll(ctx, abuseUpdateWithin, func() bool { return run.all.Seen.Load()+run.all.Ended.Load() >= abuseStreams })
		if ctx.Err() != nil {
			return delays{}, ctx.Err()
		}
		if err != nil {
			lost = time.Since(due)
			break
		}
	}
	all := run.all.Latencies()
	return delays{p50: measure.Quantile(all, .5), p99: measure.Quantile(all, .99), slowest: max(measure.Quantile(all, 1), measure.Ms(lost))}, nil
}

// attackFigures are what an attack did.
type attackFigures struct {
	delays
	before, peak, after float64 // memory in bytes
	back                time.Duration
	logged              float64 // bytes a minute
	ended               int64   // streams
	died                error   // of the server
	attacker            string  // the last line of the attacker
}

// attacked makes changes while an attacker is at work, in a process of its own.
func (run *run) attacked(ctx context.Context, a attack) (attackFigures, error) {
	var f attackFigures
	u, err := run.server.Usage()
	if err != nil {
		return f, err
	}
	f.before = u.Rss
	if err := run.server.ForgetPeak(); err != nil {
		return f, err
	}
	logged := run.logSize()
	attacker, err := startAttacker(ctx, run.cluster, a, run.server.Addr)
	if err != nil {
		return f, err
	}
	begun := time.Now()
	f.delays, err = run.changes(ctx, abuseWith)
	took := time.Since(begun)
	f.logged = (run.logSize() - logged) / took.Minutes()
	f.ended, f.died = run.all.Ended.Load(), run.server.Ended()
	if f.died == nil {
		f.peak, _ = run.server.PeakMemory()
	}
	attacker.Stop()
	f.attacker = attacker.LastLine()
	if err != nil || f.died != nil {
		return f, err
	}
	f.after, f.back, err = run.memoryAfter(ctx, mayRemain(f.before))
	return f, err
}

func startAttacker(ctx context.Context, k *measure.Cluster, a attack, addr string) (*measure.Process, error) {
	return measure.StartSelf(ctx, k.Dir, abuseNice, "attack", "--addr", addr, "--kubeconfig", k.Kubeconfig, a.name)
}

func mayPeak(before float64) float64 { return before*abusePeakTimes + abusePeakMore }

func mayRemain(before float64) float64 { return before*abuseAfterTimes + abuseAfterMore }

// memoryAfter waits until the memory is back below a limit, collecting garbage now and then, or time is over.
func (run *run) memoryAfter(ctx context.Context, limit float64) (float64, time.Duration, error) {
	for begun := time.Now(); ; {
		if err := measure.Pause(ctx, abuseCollect); err != nil {
			return 0, 0, err
		}
		// The profile is thrown away: asking for it collects the garbage.
		if _, err := measure.AdminGet(ctx, "/debug/pprof/heap?gc=1"); err != nil {
			return 0, 0, err
		}
		u, err := run.server.Usage()
		if took := time.Since(begun); err != nil || u.Rss <= limit || took > abuseBackWithin {
			return u.Rss, took, err
		}
	}
}

func (run *run) logSize() float64 {
	info, err := os.Stat(run.server.Log)
	if err != nil {
		return 0
	}
	return float64(info.Size())
}

func (run *run) report(r *measure.Report, without delays, with attackFigures) {
	const mb = 1 << 20
	r.Note("attacker: %s", with.attacker)
	r.Note("p50 / p99 / slowest update: %s without, %s with", without, with.delays)
	if with.died != nil {
		message := with.died.Error()
		r.Note("%s", strings.ReplaceAll(message[:min(len(message), 600)], "\n", "\n    "))
		r.None("the server ended", 1, "it did")
		return
	}
	r.None("the server ended", 0, "no")
	r.None("streams of others that ended", int(with.ended), fmt.Sprintf("%d of %d", with.ended, abuseStreams))
	r.AtMost("slowest update of endpoints", "ms", with.slowest, abuseSlowest)
	r.AtMost(fmt.Sprintf("slowest change of a Service (%.0f ms without)", without.slowestService), "ms", with.slowestService, abuseSlowest)
	r.Note("memory before: %.0f MB", with.before/mb)
	r.AtMost("memory at its peak (1.5 × before + 64)", "MB", with.peak/mb, rounded(mayPeak(with.before)/mb))
	r.AtMost(fmt.Sprintf("memory %.0f s after (1.15 × before + 16)", with.back.Seconds()), "MB", with.after/mb, rounded(mayRemain(with.before)/mb))
	r.AtMost("log a minute", "MB", with.logged/1e6, abuseLogPerMinute/1e6)
}

// rounded rounds to tenths, so that a limit is printed as it is compared.
func rounded(v float64) float64 { return float64(int(v*10)) / 10 }
