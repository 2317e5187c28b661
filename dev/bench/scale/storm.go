package scale

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/mesh"
	"github.com/signpostd/signpost/dev/bench/simulation"
)

const (
	// stormSpread is the time over which the proxies of a replica that died connect to another
	// one, as their own delays spread them.
	stormSpread = 8 * time.Second
	// stormRate is how many changes a second the streams that stay hear of, and stormRest for how
	// long they are measured before.
	stormRate = 200
	stormRest = 20 * time.Second
	// storms is how often the storm comes.
	storms = 3
	// stormMemory is what the server may have at the peak, in MiB.
	stormMemory = 1229
	// stormLimit is what the server knows as its limit of memory, as in a pod that may use 2 GiB. Up
	// to it garbage may wait while a storm comes (decision 0055), unless GOGC is set.
	stormLimit = "GOMEMLIMIT=1843MiB"
)

// measureStorm measures what happens when the proxies of another replica come.
func measureStorm(ctx context.Context, r *measure.Report, c measure.Options) error {
	run, err := startLarge(ctx, c, stormLimit)
	if err != nil {
		return err
	}
	defer run.stop()
	k := run.cluster
	stay := &mesh.Mesh{Size: k.Size, Addr: run.server.Addr, First: c.Scaled(scaledProxies, 10), Proxies: min(c.Scaled(churnProxies, 10), k.Services/mesh.StreamsPerProxy)}
	defer stay.Close()
	if err := stay.Open(ctx, 5*time.Second); err != nil {
		return err
	}
	h := &storm{run: run, stay: newChurn(k, stay, stormRate), proxies: c.Scaled(scaledProxies, 10), spread: c.Share(stormSpread)}
	rest, err := h.during(ctx, func(ctx context.Context) error { return measure.Pause(ctx, c.Share(stormRest)) })
	if err != nil {
		return err
	}
	before, err := run.server.Usage()
	if err != nil {
		return err
	}
	for range storms {
		heard, err := h.during(ctx, h.come)
		if err != nil {
			return err
		}
		h.leaving = append(h.leaving, heard...)
	}
	h.print(r, rest, before)
	return h.steady(ctx, r)
}

// storm is many proxies that come at once, beside others that stay.
type storm struct {
	run     *run
	stay    *churn
	proxies int
	spread  time.Duration

	// What happened, of all times that the storm came: the time until the last answer, the time
	// from the connection to the answer of each stream, streams that failed, those of them with
	// RESOURCE_EXHAUSTED, the CPU time, and the most memory.
	all               []time.Duration
	first             []time.Duration
	failed, exhausted int64
	failure           string
	cpu               time.Duration
	peak              float64
	// others and leaving are how long changes took to reach the streams that stay: until the last answer to
	// the storm, and while all of it leaves at once.
	others, leaving []time.Duration
}

// during returns how long changes took to reach the streams that stay while something happens.
func (h *storm) during(ctx context.Context, f func(context.Context) error) ([]time.Duration, error) {
	playing, stop := context.WithCancel(ctx)
	defer stop()
	played := make(chan error, 1)
	go func() { played <- h.stay.play(playing, time.Hour) }()
	err := f(ctx)
	stop()
	if e := <-played; err == nil {
		err = e
	}
	if inexact := h.stay.heardAll(ctx, 20*time.Second); err == nil && inexact > 0 {
		err = fmt.Errorf("%d streams that stay don't know what they should", inexact)
	}
	return h.stay.take().latencies, err
}

// come lets the storm come and go.
func (h *storm) come(ctx context.Context) error {
	if err := h.run.server.ForgetPeak(); err != nil {
		return err
	}
	before, err := h.run.server.Usage()
	if err != nil {
		return err
	}
	result, leave, err := stormProxies{h.stay.cluster.Size, h.run.server.Addr, h.proxies, h.spread}.come(ctx, h.stay.cluster.Dir)
	if err != nil {
		return err
	}
	defer leave()
	h.others = append(h.others, h.stay.takeLatencies()...)
	after, err := h.run.server.Usage()
	if err != nil {
		return err
	}
	peak, err := h.run.server.PeakMemory()
	if err != nil {
		return err
	}
	h.all, h.first = append(h.all, result.Took), append(h.first, result.First...)
	h.failed, h.exhausted = h.failed+result.Failed, h.exhausted+result.Exhausted
	if h.failure == "" {
		h.failure = result.Failure
	}
	h.cpu, h.peak = h.cpu+after.Cpu-before.Cpu, max(h.peak, peak)
	return nil
}

func (h *storm) print(r *measure.Report, rest []time.Duration, before measure.Usage) {
	for _, all := range [][]time.Duration{h.first, h.all, h.others, h.leaving} {
		slices.Sort(all)
	}
	streams := h.proxies * mesh.StreamsPerProxy
	r.TitleBeside("at rest", "%s; %d streams come within %s, %d times; %d stay, with %d changes a second",
		h.stay.cluster.Size, streams, h.spread, len(h.all), len(h.stay.mesh.Streams), stormRate)
	r.AtMost("until the last stream has its first answer, worst", "s", h.all[len(h.all)-1].Seconds(), 10)
	r.None("streams that failed; with RESOURCE_EXHAUSTED", int(h.failed+h.exhausted+h.stay.mesh.Ended.Load()), fmt.Sprintf("%d; %d", h.failed, h.exhausted))
	r.None("changes undone before their stream heard of them", h.stay.late, fmt.Sprint(h.stay.late))
	r.Ratio("p50 from a change to a stream that stays", "ms", measure.Figures{Base: measure.Quantile(rest, .5), Signpost: measure.Quantile(h.others, .5), Limit: 0})
	r.Ratio("p99 from a change to a stream that stays", "ms", measure.Figures{Base: measure.Quantile(rest, .99), Signpost: measure.Quantile(h.others, .99), Limit: 2})
	r.Ratio("max", "ms", measure.Figures{Base: measure.Quantile(rest, 1), Signpost: measure.Quantile(h.others, 1), Limit: 0})
	r.Note("while the storm leaves at once: p50 %.1f ms, p99 %.1f ms, max %.1f ms", measure.Quantile(h.leaving, .5), measure.Quantile(h.leaving, .99), measure.Quantile(h.leaving, 1))
	r.Note("from the connection to the first answer: p50 %.1f ms, p99 %.1f ms, max %.1f ms", measure.Quantile(h.first, .5), measure.Quantile(h.first, .99), measure.Quantile(h.first, 1))
	r.AtMost("memory at the peak", "MiB", h.peak/measure.Mebibyte, stormMemory)
	r.Note("%.0f MiB before; %.0f µs of CPU for each stream, changes included",
		before.Rss/measure.Mebibyte, float64(h.cpu.Microseconds())/float64(streams*len(h.all)))
	if h.failure != "" {
		r.Note("the first failure: %s", h.failure)
	}
}

// steady reports whether memory comes back after the storm has gone.
func (h *storm) steady(ctx context.Context, r *measure.Report) error {
	heap, err := measure.HeapAfterGC(ctx)
	if err != nil {
		return err
	}
	u, err := h.run.server.Usage()
	r.Note("after the storm has gone: %.0f MiB, live heap %.0f MiB", u.Rss/measure.Mebibyte, heap/measure.Mebibyte)
	return err
}

// stormNice is the niceness of the proxies of a storm. Those of a mesh have processors of their own; here
// they share two with the server and with the streams whose delays are measured.
const stormNice = 19

// stormResult is what the proxies of a storm say when all streams have an answer or have failed.
type stormResult struct {
	Took              time.Duration   // until the last answer
	First             []time.Duration // from the connection to the first answer, of each stream
	Failed, Exhausted int64           // streams; the second are those with RESOURCE_EXHAUSTED
	Failure           string          // the first one
}

// stormProxies is what the process of a storm's proxies is told.
type stormProxies struct {
	simulation.Size
	addr    string
	proxies int
	spread  time.Duration
}

// RunStorm is the process of a storm's proxies. It uses one core at most, prints a stormResult, and stays
// until it is ended.
func RunStorm(ctx context.Context, args []string) error {
	runtime.GOMAXPROCS(1)
	var p stormProxies
	fs := flag.NewFlagSet("storm", flag.ExitOnError)
	fs.StringVar(&p.addr, "addr", "", "address of the server")
	fs.IntVar(&p.Services, "services", 0, "Services of the simulated cluster")
	fs.IntVar(&p.Pods, "pods", 0, "pods of each Service")
	fs.IntVar(&p.proxies, "proxies", 0, "proxies that connect")
	fs.DurationVar(&p.spread, "spread", 0, "time over which they do so")
	if err := fs.Parse(args); err != nil {
		return err
	}
	m := &mesh.Mesh{Size: p.Size, Addr: p.addr, Proxies: p.proxies, Profiles: true}
	begun := time.Now()
	if err := m.Open(ctx, p.spread); err != nil {
		return err
	}
	result := stormResult{Took: time.Since(begun), First: m.FirstAnswers(), Failed: m.Ended.Load(), Exhausted: m.Exhausted.Load()}
	if err := m.Failed(); err != nil {
		result.Failure = err.Error()
	}
	defer m.Close()
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// come starts the process of the proxies in dir, and waits until each stream has an answer or has failed. The
// streams stay until leave is called.
func (p stormProxies) come(ctx context.Context, dir string) (result stormResult, leave func(), err error) {
	child, err := measure.StartSelf(ctx, dir, stormNice, "storm", "--addr", p.addr,
		"--services", fmt.Sprint(p.Services), "--pods", fmt.Sprint(p.Pods), "--proxies", fmt.Sprint(p.proxies), "--spread", p.spread.String())
	if err != nil {
		return stormResult{}, nil, err
	}
	leave = func() {
		child.Stop()
		_ = os.Remove(child.Log) // the next storm's begins anew
	}
	err = child.AwaitLine(ctx, 3*time.Minute, func(line string) bool { return json.Unmarshal([]byte(line), &result) == nil })
	if err != nil {
		leave()
		return stormResult{}, nil, fmt.Errorf("run the proxies of a storm: %w", err)
	}
	return result, leave, nil
}
