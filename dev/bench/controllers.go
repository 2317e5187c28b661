package main

import (
	"context"
	"fmt"
	"time"
)

// layout is a cluster for the controllers: every Service has the same number of
// ready pods, and the Services are spread over the namespaces.
type layout struct {
	namespaces, services, pods int
	must                       controllerLimits
}

// controllerLimits are the shares of what the Kubernetes controllers spend that
// Signpost may; 0 is no limit.
type controllerLimits struct {
	cold, both, memory, warm, flipCPU, flipLatency float64
}

var layouts = []layout{
	{
		namespaces: 1, services: 400, pods: 50,
		must: controllerLimits{cold: 1.0 / 3, both: 1.0 / 4, memory: 1.0 / 2, warm: 1.0 / 4, flipCPU: 1.0 / 4, flipLatency: 1},
	},
	{
		namespaces: 20, services: 1000, pods: 20,
		must: controllerLimits{cold: 1.0 / 2, both: 1.0 / 4, memory: 1.0 / 2, flipCPU: 1.0 / 2, flipLatency: 1},
	},
}

const (
	// bothPerOne is what both writers in one process may spend, beside the dearer one alone.
	bothPerOne = 1.3

	// startsPerRound is how often each competitor starts in a round: a start takes seconds only.
	startsPerRound = 2

	flipRate = 50 // a second
	// The API server collects its garbage every ten seconds or so, for up to half a second. What
	// falls into that decides the p99, so there must be several collections, not one or two.
	flipFor = time.Minute

	// At twice that rate the Kubernetes controller can't keep up with slices in one namespace;
	// Signpost must.
	fastFlipRate = 2 * flipRate
	fastFlipP50  = 15 // ms
	fastFlipP99  = 60 // ms
)

// writer is one of the two kinds of objects that are written, with the names of
// the controllers that write it.
type writer struct{ name, signpost, kubernetes string }

var (
	endpointsWriter = writer{"Endpoints", "endpoints", "endpoints-controller"}
	slicesWriter    = writer{"slices", "endpointslices", "endpointslice-controller"}
	allWriters      = []writer{endpointsWriter, slicesWriter}
)

// measureControllers measures `signpost controllers` beside the controllers of
// Kubernetes, in turns, against one API server per layout.
func measureControllers(ctx context.Context, r *report, c choice) error {
	for _, l := range layouts {
		l.services = c.scaled(l.services, l.namespaces)
		if err := measureLayout(ctx, r, c, l); err != nil {
			return fmt.Errorf("%d Services × %d pods: %w", l.services, l.pods, err)
		}
	}
	return nil
}

func measureLayout(ctx context.Context, r *report, c choice, l layout) error {
	k, err := startCluster(ctx, time.Second)
	if err != nil {
		return err
	}
	defer k.stop()
	client, err := k.quickClient()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := l.load(ctx, client); err != nil {
		return fmt.Errorf("load the cluster: %w", err)
	}
	fmt.Fprintf(r.out, "\nloaded %d Services × %d pods, %d namespaces, in %s\n", l.services, l.pods, l.namespaces, time.Since(begun).Round(time.Second))
	run := &controllersRun{layout: l, choice: c, cluster: k, client: client, competitors: competitors(c)}
	if err := pause(ctx, 5*time.Second); err != nil { // the API server has garbage to collect
		return err
	}
	if c.wants("cold") {
		if err := run.measureCold(ctx, r); err != nil {
			return err
		}
	}
	if c.wants("flips") {
		return run.measureFlips(ctx, r)
	}
	return nil
}

// sides are the figures of the Kubernetes controllers and of Signpost, by round.
type sides[T any] [2][]T

func (s sides[T]) figures(of func(T) float64, limit float64) figures {
	return figures{median(s[0], of), median(s[1], of), limit}
}

// measureCold measures from nothing to complete objects: each writer alone, and both. They
// take turns, because what else the machine does changes from minute to minute.
func (run *controllersRun) measureCold(ctx context.Context, r *report) error {
	var alone [2]sides[coldFigures]
	var both sides[coldFigures]
	starts := run.choice.rounds * startsPerRound
	for range starts {
		for i, w := range allWriters {
			if err := run.coldRound(ctx, &alone[i], w); err != nil {
				return err
			}
		}
		if err := run.coldRound(ctx, &both, allWriters...); err != nil {
			return err
		}
	}
	must := run.must
	r.titleBeside("kubernetes", "Cold start, %s, medians of %d", run, starts)
	for i, w := range allWriters {
		r.ratio(w.name+": CPU until all are complete", "s", alone[i].figures(coldCPU, must.cold))
		r.ratio(w.name+": until all are complete", "s", alone[i].figures(coldTook, 0))
		r.ratio(w.name+": peak memory", "MB", alone[i].figures(coldMemory, must.memory))
	}
	r.ratio("both in one process: CPU until all are complete", "s", both.figures(coldCPU, must.both))
	r.ratio("both in one process: until all are complete", "s", both.figures(coldTook, 0))
	r.ratio("both in one process: peak memory", "MB", both.figures(coldMemory, 0))
	dearer := max(median(alone[0][1], coldCPU), median(alone[1][1], coldCPU))
	r.atMost("both in one process, beside the dearer one alone", "×", median(both[1], coldCPU)/dearer, bothPerOne)
	return nil
}

// coldRound adds a start of each competitor.
func (run *controllersRun) coldRound(ctx context.Context, all *sides[coldFigures], writers ...writer) error {
	for i, start := range run.competitors {
		f, err := run.cold(ctx, start, writers)
		if err != nil {
			return err
		}
		all[i] = append(all[i], f)
	}
	return nil
}

// measureFlips measures a start with nothing to do, and then changes of pods.
func (run *controllersRun) measureFlips(ctx context.Context, r *report) error {
	if err := run.complete(ctx); err != nil {
		return err
	}
	for _, w := range allWriters {
		rates := []int{flipRate}
		if w == slicesWriter && run.namespaces == 1 {
			rates = append(rates, fastFlipRate)
		}
		var all sides[warmFigures]
		for range run.choice.rounds {
			for i, start := range run.competitors {
				f, err := run.warm(ctx, start, w, rates)
				if err != nil {
					return fmt.Errorf("%s: %w", []string{"kubernetes", "signpost"}[i], err)
				}
				all[i] = append(all[i], f)
			}
		}
		run.reportFlips(r, w, all)
		if n := run.interrupted.Swap(0); n > 0 {
			r.note("the watch of the benchmark itself fell behind and was begun again %d times: don't trust the latencies", n)
		}
	}
	return nil
}

func (run *controllersRun) reportFlips(r *report, w writer, all sides[warmFigures]) {
	must := run.must
	r.titleBeside("kubernetes", "%s that exist already, %s, medians of %d", w.name, run, run.choice.rounds)
	r.ratio("warm start: CPU until idle", "s", all.figures(func(f warmFigures) float64 { return f.cpu }, must.warm))
	wrote := all.figures(func(f warmFigures) float64 { return float64(f.wrote) }, 0)
	r.check("warm start: objects written", wrote.signpost, 0, 0, fmt.Sprintf("%.0f, Kubernetes %.0f", wrote.signpost, wrote.base))
	flip := func(i int, of func(flipFigures) float64) func(warmFigures) float64 {
		return func(f warmFigures) float64 { return of(f.flips[i]) }
	}
	title := func(rate int, what string) string { return fmt.Sprintf("%d flips a second: %s", rate, what) }
	r.ratio(title(flipRate, "CPU per flip"), "ms", all.figures(flip(0, flipCPU), must.flipCPU))
	r.ratio(title(flipRate, "p50 from pod to object"), "ms", all.figures(flip(0, flipP50), must.flipLatency))
	r.ratio(title(flipRate, "p99 from pod to object"), "ms", all.figures(flip(0, flipP99), must.flipLatency))
	if len(all[0][0].flips) > 1 {
		r.ratio(title(fastFlipRate, "CPU per flip"), "ms", all.figures(flip(1, flipCPU), 0))
		r.atMostBeside(title(fastFlipRate, "p50 from pod to object"), "ms", all.figures(flip(1, flipP50), fastFlipP50))
		r.atMostBeside(title(fastFlipRate, "p99 from pod to object"), "ms", all.figures(flip(1, flipP99), fastFlipP99))
	}
}

func (l layout) String() string {
	in := "one namespace"
	if l.namespaces > 1 {
		in = fmt.Sprintf("%d namespaces", l.namespaces)
	}
	return fmt.Sprintf("%d Services × %d pods, %s", l.services, l.pods, in)
}
