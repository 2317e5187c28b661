// Package controllers measures `signpost controllers` beside the controllers of Kubernetes.
//
// The competitors take turns against one API server per Layout. A board (watch.go) follows the objects that
// they write, and shows when all are complete and when a change of a pod has reached them. Package failover
// uses Layout and StartFunc for two replicas.
package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// Layout is a cluster for the controllers: every Service has the same number of
// ready pods, and the Services are spread over the namespaces.
type Layout struct {
	Namespaces, Services, Pods int
	must                       controllerLimits
}

// controllerLimits are the shares of what the Kubernetes controllers spend that
// Signpost may; 0 is no limit.
type controllerLimits struct {
	cold, both, memory, warm, flipCPU, flipLatency float64
}

var layouts = []Layout{
	{
		Namespaces: 1, Services: 400, Pods: 50,
		must: controllerLimits{cold: 1.0 / 3, both: 1.0 / 4, memory: 1.0 / 2, warm: 1.0 / 4, flipCPU: 1.0 / 4, flipLatency: 1},
	},
	{
		Namespaces: 20, Services: 1000, Pods: 20,
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

// Writer is one of the two kinds of objects that are written, with the names of
// the controllers that write it.
type Writer struct{ name, signpost, kubernetes string }

var (
	endpointsWriter = Writer{"Endpoints", "endpoints", "endpoints-controller"}
	SlicesWriter    = Writer{"slices", "endpointslices", "endpointslice-controller"}
	allWriters      = []Writer{endpointsWriter, SlicesWriter}
)

// Benches returns the benches of the controllers beside those of Kubernetes.
func Benches() []measure.Bench {
	return []measure.Bench{{
		Name: "controllers", Shows: "both controllers beside those of Kubernetes, in two clusters of 20,000 pods", Run: measureControllers,
		Halves: []measure.Half{
			{Name: "cold", Shows: "from no object to complete objects", Must: "CPU ≤ 1/3 and 1/2, memory ≤ 1/2 of Kubernetes"},
			{Name: "flips", Shows: "a start with nothing to write, then 50 and 100 changes a second", Must: "CPU ≤ 1/4 and 1/2, latency ≤ 1 ×"},
		},
	}}
}

// measureControllers measures `signpost controllers` beside the controllers of
// Kubernetes, in turns, against one API server per layout.
func measureControllers(ctx context.Context, r *measure.Report, c measure.Options) error {
	for _, l := range layouts {
		l.Services = c.Scaled(l.Services, l.Namespaces)
		if err := measureLayout(ctx, r, c, l); err != nil {
			return fmt.Errorf("%d Services × %d pods: %w", l.Services, l.Pods, err)
		}
	}
	return nil
}

func measureLayout(ctx context.Context, r *measure.Report, c measure.Options, l Layout) error {
	k, err := measure.StartCluster(ctx, time.Second)
	if err != nil {
		return err
	}
	defer k.Stop()
	client, err := k.QuickClient()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := l.Load(ctx, client); err != nil {
		return fmt.Errorf("load the cluster: %w", err)
	}
	fmt.Fprintf(r.Out, "\nloaded %d Services × %d pods, %d namespaces, in %s\n", l.Services, l.Pods, l.Namespaces, time.Since(begun).Round(time.Second))
	run := &run{Layout: l, choice: c, cluster: k, client: client, competitors: competitors(c)}
	if err := measure.Pause(ctx, 5*time.Second); err != nil { // the API server has garbage to collect
		return err
	}
	if c.Wants("cold") {
		if err := run.measureCold(ctx, r); err != nil {
			return err
		}
	}
	if c.Wants("flips") {
		return run.measureFlips(ctx, r)
	}
	return nil
}

// sides are the figures of the Kubernetes controllers and of Signpost, by round.
type sides[T any] [2][]T

func (s sides[T]) figures(of func(T) float64, limit float64) measure.Figures {
	return measure.Figures{Base: measure.Median(s[0], of), Signpost: measure.Median(s[1], of), Limit: limit}
}

// measureCold measures from nothing to complete objects: each writer alone, and both. They
// take turns, because what else the machine does changes from minute to minute.
func (run *run) measureCold(ctx context.Context, r *measure.Report) error {
	var alone [2]sides[coldFigures]
	var both sides[coldFigures]
	starts := run.choice.Rounds * startsPerRound
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
	r.TitleBeside("kubernetes", "Cold start, %s, medians of %d", run, starts)
	for i, w := range allWriters {
		r.Ratio(w.name+": CPU until all are complete", "s", alone[i].figures(coldCPU, must.cold))
		r.Ratio(w.name+": until all are complete", "s", alone[i].figures(coldTook, 0))
		r.Ratio(w.name+": peak memory", "MB", alone[i].figures(coldMemory, must.memory))
	}
	r.Ratio("both in one process: CPU until all are complete", "s", both.figures(coldCPU, must.both))
	r.Ratio("both in one process: until all are complete", "s", both.figures(coldTook, 0))
	r.Ratio("both in one process: peak memory", "MB", both.figures(coldMemory, 0))
	dearer := max(measure.Median(alone[0][1], coldCPU), measure.Median(alone[1][1], coldCPU))
	r.AtMost("both in one process, beside the dearer one alone", "×", measure.Median(both[1], coldCPU)/dearer, bothPerOne)
	return nil
}

// coldRound adds a start of each competitor.
func (run *run) coldRound(ctx context.Context, all *sides[coldFigures], writers ...Writer) error {
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
func (run *run) measureFlips(ctx context.Context, r *measure.Report) error {
	if err := run.complete(ctx); err != nil {
		return err
	}
	for _, w := range allWriters {
		rates := []int{flipRate}
		if w == SlicesWriter && run.Namespaces == 1 {
			rates = append(rates, fastFlipRate)
		}
		var all sides[warmFigures]
		for range run.choice.Rounds {
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
			r.Note("the watch of the benchmark itself fell behind and was begun again %d times: don't trust the latencies", n)
		}
	}
	return nil
}

func (run *run) reportFlips(r *measure.Report, w Writer, all sides[warmFigures]) {
	must := run.must
	r.TitleBeside("kubernetes", "%s that exist already, %s, medians of %d", w.name, run, run.choice.Rounds)
	r.Ratio("warm start: CPU until idle", "s", all.figures(func(f warmFigures) float64 { return f.cpu }, must.warm))
	wrote := all.figures(func(f warmFigures) float64 { return float64(f.wrote) }, 0)
	r.Check("warm start: objects written", wrote.Signpost, 0, 0, fmt.Sprintf("%.0f, Kubernetes %.0f", wrote.Signpost, wrote.Base))
	flip := func(i int, of func(flipFigures) float64) func(warmFigures) float64 {
		return func(f warmFigures) float64 { return of(f.flips[i]) }
	}
	title := func(rate int, what string) string { return fmt.Sprintf("%d flips a second: %s", rate, what) }
	r.Ratio(title(flipRate, "CPU per flip"), "ms", all.figures(flip(0, flipCPU), must.flipCPU))
	r.Ratio(title(flipRate, "p50 from pod to object"), "ms", all.figures(flip(0, flipP50), must.flipLatency))
	r.Ratio(title(flipRate, "p99 from pod to object"), "ms", all.figures(flip(0, flipP99), must.flipLatency))
	if len(all[0][0].flips) > 1 {
		r.Ratio(title(fastFlipRate, "CPU per flip"), "ms", all.figures(flip(1, flipCPU), 0))
		r.AtMostBeside(title(fastFlipRate, "p50 from pod to object"), "ms", all.figures(flip(1, flipP50), fastFlipP50))
		r.AtMostBeside(title(fastFlipRate, "p99 from pod to object"), "ms", all.figures(flip(1, flipP99), fastFlipP99))
	}
}

// String describes the cluster.
func (l Layout) String() string {
	in := "one namespace"
	if l.Namespaces > 1 {
		in = fmt.Sprintf("%d namespaces", l.Namespaces)
	}
	return fmt.Sprintf("%d Services × %d pods, %s", l.Services, l.Pods, in)
}
