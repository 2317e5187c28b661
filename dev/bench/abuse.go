package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/internal/childprocess"
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

	// abuseNice is the niceness of the attackers, which share the machine with the server, the API server and the
	// well-behaved clients. They also use one core at most: what is measured is what an attack makes
	// the server do, not what it costs to attack.
	abuseNice = 10
)

// measureAbuse measures what attacks on a Destination server cost the others. The halves are the attacks.
func measureAbuse(ctx context.Context, r *report, c choice) error {
	k, err := startLoadedCluster(ctx, time.Second, abuseEndpoints)
	if err != nil {
		return err
	}
	defer k.stop()
	for _, a := range attacks {
		if !c.wants(a.name) {
			continue
		}
		if err := measureAttack(ctx, r, k, a); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return nil
}

// abuseRun is a server under one attack.
type abuseRun struct {
	cluster     *cluster
	server      *process
	addr, admin string
	all         *clients
	toggler     *toggler
	canary      *canary
}

func measureAttack(ctx context.Context, r *report, k *cluster, a attack) error {
	run, err := newAbuseRun(ctx, k)
	if err != nil {
		return err
	}
	defer run.close()
	fmt.Fprintf(r.out, "\n%s: %s; %d well-behaved streams, %d endpoints, %.0f changes a second\n",
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

// newAbuseRun starts a server of its own, so that an attack doesn't begin with what the one before left behind.
func newAbuseRun(ctx context.Context, k *cluster) (*abuseRun, error) {
	run := &abuseRun{cluster: k, toggler: &toggler{client: k.client, endpoints: abuseEndpoints}}
	var err error
	if run.addr, err = childprocess.Address(); err != nil {
		return nil, err
	}
	if run.admin, err = childprocess.Address(); err != nil {
		return nil, err
	}
	// The changes begin with all pods there, whatever the last attack left.
	if err := run.toggler.reset(ctx); err != nil {
		return nil, err
	}
	run.server, err = start(ctx, k.dir, signpostBinary, "destination", "-addr", run.addr, "-metrics-addr", run.admin,
		"-kubeconfig", k.kubeconfig, "-enable-ipv6=false", "-enable-pprof")
	if err != nil {
		return nil, err
	}
	if run.all, err = open(ctx, run.addr, abuseStreams, abuseEndpoints); err != nil {
		run.close()
		return nil, err
	}
	if run.canary, err = newCanary(ctx, k.client, run.addr); err != nil {
		run.close()
		return nil, err
	}
	return run, nil
}

func (run *abuseRun) close() {
	if run.canary != nil {
		run.canary.close()
	}
	if run.all != nil {
		run.all.close()
	}
	run.server.stop()
	_ = os.Remove(run.server.log) // an attack may have filled it
}

// delays are those from the API write to the streams, in milliseconds.
type delays struct{ p50, p99, slowest, slowestService float64 }

func (d delays) String() string {
	return fmt.Sprintf("%.1f / %.1f / %.0f ms", d.p50, d.p99, d.slowest)
}

// changes makes changes at a steady pace, and the canary beside them. It stops early if the server has ended, or an
// update is lost.
func (run *abuseRun) changes(ctx context.Context, d time.Duration) (delays, error) {
	var g errgroup.Group
	var slowest time.Duration
	g.Go(func() (err error) {
		slowest, err = run.canary.sing(ctx, d)
		return err
	})
	found, err := run.endpointChanges(ctx, d)
	err = errors.Join(err, g.Wait())
	found.slowestService = ms(slowest)
	return found, err
}

// endpointChanges makes changes of endpoints. Delays count from when a change was due, so that one that takes long
// makes those late that wait behind it.
func (run *abuseRun) endpointChanges(ctx context.Context, d time.Duration) (delays, error) {
	run.all.latencies()
	var lost time.Duration
	for due, end := time.Now(), time.Now().Add(d); due.Before(end) && run.server.ended() == nil; due = due.Add(abuseGap) {
		if err := pause(ctx, time.Until(due)); err != nil {
			return delays{}, err
		}
		run.all.expect(run.toggler)
		run.all.since.Store(due.UnixNano())
		if err := run.toggler.next(ctx); err != nil {
			return delays{}, err
		}
		err := poll(ctx, abuseUpdateWithin, func() bool { return run.all.seen.Load()+run.all.ended.Load() >= abuseStreams })
		if ctx.Err() != nil {
			return delays{}, ctx.Err()
		}
		if err != nil {
			lost = time.Since(due)
			break
		}
	}
	all := run.all.latencies()
	return delays{p50: quantile(all, .5), p99: quantile(all, .99), slowest: max(quantile(all, 1), ms(lost))}, nil
}

// attackFigures are what an attack did.
type attackFigures struct {
	delays
	before, peak, after float64 // memory in bytes
	back                time.Duration
	logged              float64 // bytes a minute
	ended               int64   // streams
	died                error   // of the server
	attacker            string  // what the attacker says
}

// attacked makes changes while an attacker is at work, in a process of its own.
func (run *abuseRun) attacked(ctx context.Context, a attack) (attackFigures, error) {
	var f attackFigures
	u, err := run.server.usage()
	if err != nil {
		return f, err
	}
	f.before = u.rss
	if err := run.server.forgetPeak(); err != nil {
		return f, err
	}
	logged := run.logSize()
	attacker, err := startAttacker(ctx, run.cluster, a, run.addr)
	if err != nil {
		return f, err
	}
	begun := time.Now()
	f.delays, err = run.changes(ctx, abuseWith)
	took := time.Since(begun)
	f.logged = (run.logSize() - logged) / took.Minutes()
	f.ended, f.died = run.all.ended.Load(), run.server.ended()
	if f.died == nil {
		f.peak, _ = run.server.peakMemory()
	}
	attacker.stop()
	f.attacker = attacker.lastLine()
	if err != nil || f.died != nil {
		return f, err
	}
	f.after, f.back, err = run.memoryAfter(ctx, mayRemain(f.before))
	return f, err
}

func startAttacker(ctx context.Context, k *cluster, a attack, addr string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(ctx, k.dir, "nice", "-n", fmt.Sprint(abuseNice), self, "attack", "--addr", addr, "--kubeconfig", k.kubeconfig, a.name)
}

func mayPeak(before float64) float64   { return before*abusePeakTimes + abusePeakMore }
func mayRemain(before float64) float64 { return before*abuseAfterTimes + abuseAfterMore }

// memoryAfter waits until the memory is back below a limit, collecting garbage now and then, or time is over.
func (run *abuseRun) memoryAfter(ctx context.Context, limit float64) (float64, time.Duration, error) {
	for begun := time.Now(); ; {
		if err := pause(ctx, abuseCollect); err != nil {
			return 0, 0, err
		}
		if err := run.collect(ctx); err != nil {
			return 0, 0, err
		}
		u, err := run.server.usage()
		if took := time.Since(begun); err != nil || u.rss <= limit || took > abuseBackWithin {
			return u.rss, took, err
		}
	}
}

// collect makes the server collect its garbage.
func (run *abuseRun) collect(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+run.admin+"/debug/pprof/heap?gc=1", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the server to collect garbage: %w", err)
	}
	return answer.Body.Close()
}

func (run *abuseRun) logSize() float64 {
	info, err := os.Stat(run.server.log)
	if err != nil {
		return 0
	}
	return float64(info.Size())
}

func (run *abuseRun) report(r *report, without delays, with attackFigures) {
	const mb = 1 << 20
	r.note("the attacker says: %s", with.attacker)
	r.note("p50 / p99 / slowest update: %s without, %s with", without, with.delays)
	if with.died != nil {
		message := with.died.Error()
		r.note("%s", strings.ReplaceAll(message[:min(len(message), 600)], "\n", "\n    "))
		r.none("the server ended", 1, "it did")
		return
	}
	r.none("the server ended", 0, "no")
	r.none("streams of others that ended", int(with.ended), fmt.Sprintf("%d of %d", with.ended, abuseStreams))
	r.atMost("slowest update of endpoints", "ms", with.slowest, abuseSlowest)
	r.atMost(fmt.Sprintf("slowest change of a Service (%.0f ms without)", without.slowestService), "ms", with.slowestService, abuseSlowest)
	r.note("memory before: %.0f MB", with.before/mb)
	r.atMost("memory at its peak (1.5 × before + 64)", "MB", with.peak/mb, rounded(mayPeak(with.before)/mb))
	r.atMost(fmt.Sprintf("memory %.0f s after (1.15 × before + 16)", with.back.Seconds()), "MB", with.after/mb, rounded(mayRemain(with.before)/mb))
	r.atMost("log a minute", "MB", with.logged/1e6, abuseLogPerMinute/1e6)
}

// rounded rounds to tenths, so that a limit is printed as it is compared.
func rounded(v float64) float64 { return float64(int(v*10)) / 10 }
