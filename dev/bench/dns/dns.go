// Package dns measures `signpost dns`: publishing in BIND, webhooks that are slow or refuse records, crashes
// in the middle of writes, hostile servers, and namespaces with very many names.
//
// Benchmarks of the packages dns/plan and dns/publisher are run by gobench.go with `go test`. All else starts
// the publisher as a process. Provider reads of hostile servers have processes of their own, because their
// memory is measured.
package dns

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/internal/childprocess"
)

const (
	services = 2000
	dnsNew   = 100
	// dnsNewWithin is for the new records, in milliseconds. ExternalDNS took dnsOtherNew for
	// each, with --events and 2,000 records.
	dnsNewWithin = 100
	dnsOtherNew  = 6000
	// dnsPoll is the time between two looks for a name.
	dnsPoll = 2 * time.Millisecond

	// While nothing changes, dnsCycles verifications are watched. Each may take a third of the CPU
	// time, in milliseconds, that ExternalDNS took for one.
	dnsInterval    = time.Minute
	dnsCycles      = 5
	dnsOtherCycle  = 70
	dnsCycleWithin = 23.3
)

// Benches returns the benches of `signpost dns`, most of them with a real BIND.
func Benches() []measure.Bench {
	return []measure.Bench{{
		Name: "dns", Shows: "DNS records of 2,000 Services in BIND, and of other providers", Run: measurePublishing,
		Halves: []measure.Half{
			{Name: "plan", Shows: "allocations of a plan with nothing to change", Must: "none", Run: measurePlan},
			{Name: "calls", Shows: "calls of providers in an idle hour", Must: "≤ the limit of the client", Run: measureCalls},
			{Name: "webhook", Shows: "records behind a webhook, also beside one that it refuses", Must: "≤ 2 s", Run: measureWebhook},
			{Name: "kill", Shows: "the publisher is killed 40 times on each server, beside a person who edits", Must: "no record of others touched", Run: measureKills},
			{Name: "hostile", Shows: "providers read hostile servers", Must: "≤ 300 MB at the peak, 16 MB kept", Run: measureHostile},
			{Name: "tenants", Shows: "one namespace asks for very many names", Must: "changes of others ≤ 2 × and 250 ms, ≤ 512 MiB", Run: measureTenants},
			{Name: "publish", Shows: "from the status of a Service to the answer of BIND", Must: "p99 ≤ 100 ms"},
			{Name: "idle", Shows: "verifications while nothing changes", Must: "one serial query and ≤ 23.3 ms of CPU each"},
		},
	}}
}

// measurePublishing measures the first publication, new records, and verifications while nothing changes.
func measurePublishing(ctx context.Context, r *measure.Report, c measure.Options) error {
	if !c.Wants("publish") && !c.Wants("idle") {
		return nil
	}
	d, err := newRun(ctx, c)
	if err != nil {
		return err
	}
	defer d.close()
	r.TitleBeside("", "DNS records of %d Services in BIND, by signpost dns", d.services)
	if err := d.measureFirst(ctx, r); err != nil {
		return fmt.Errorf("first publication: %w", err)
	}
	if c.Wants("publish") {
		if err := d.measureNew(ctx, r); err != nil {
			return fmt.Errorf("new records: %w", err)
		}
	}
	if c.Wants("idle") {
		if err := d.measureIdle(ctx, r); err != nil {
			return fmt.Errorf("idle: %w", err)
		}
	}
	memory, err := d.process.PeakMemory()
	if err != nil {
		return err
	}
	r.Note("peak memory: %.1f MB", memory/(1<<20))
	return nil
}

// run is a cluster with Services, a DNS server and the publisher between them.
type run struct {
	choice   measure.Options
	services int
	cluster  *measure.Cluster
	client   *kubernetes.Clientset
	server   *server
	process  *measure.Process
	// flags are further ones of the publisher.
	flags []string
	// lists is how often the API server had listed objects when the publisher was started.
	lists int
}

// newRun starts everything but the publisher, and creates the Services.
func newRun(ctx context.Context, c measure.Options) (*run, error) {
	d := &run{choice: c, services: c.Scaled(services, 20)}
	var err error
	if d.server, err = startServer(ctx); err != nil {
		return nil, err
	}
	if d.cluster, err = measure.StartCluster(ctx, time.Second); err != nil {
		d.close()
		return nil, err
	}
	if err := d.load(ctx); err != nil {
		d.close()
		return nil, fmt.Errorf("load the cluster: %w", err)
	}
	return d, nil
}

func (d *run) close() {
	if d.process != nil {
		d.process.Stop()
	}
	if d.cluster != nil {
		d.cluster.Stop()
	}
	if d.server != nil {
		d.server.close()
	}
}

// start starts the publisher.
func (d *run) start(ctx context.Context) error {
	return d.publish(ctx, nil, slices.Concat([]string{"--interval", dnsInterval.String(), "--txt-prefix=%{record_type}-"}, d.server.flags(), d.flags)...)
}

// publish starts the publisher with further flags.
func (d *run) publish(ctx context.Context, env []string, flags ...string) error {
	metrics, err := childprocess.Address()
	if err != nil {
		return err
	}
	d.process, err = measure.StartWith(ctx, d.cluster.Dir, env, measure.SignpostBinary, append([]string{
		"dns", "--kubeconfig", d.cluster.Kubeconfig, "--metrics-address", metrics, "--source=service", "--policy=sync",
	}, flags...)...)
	return err
}

// await waits until the condition holds. It fails if the publisher ends.
func (d *run) await(ctx context.Context, what string, limit, every time.Duration, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, measure.ErrTimeout)
	defer cancel()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		if err := d.process.Ended(); err != nil {
			return err
		}
		if measure.Pause(ctx, every) != nil {
			return fmt.Errorf("wait for %s: %w: see %s", what, context.Cause(ctx), d.process.Log)
		}
	}
}

// measureFirst measures from the start of the publisher until BIND answers for all Services.
func (d *run) measureFirst(ctx context.Context, r *measure.Report) error {
	var err error
	if d.lists, err = apiLists(ctx, d.cluster); err != nil {
		return err
	}
	begun := time.Now()
	if err := d.start(ctx); err != nil {
		return err
	}
	for i := range d.services {
		if err := d.awaitName(ctx, i); err != nil {
			return err
		}
	}
	took := time.Since(begun)
	cpu, err := d.process.CpuTime()
	if err != nil {
		return err
	}
	z, err := d.server.transfer()
	if err != nil {
		return err
	}
	idle, err := measure.UntilIdle(ctx, d.process)
	if err != nil {
		return fmt.Errorf("wait until it is idle: %w", err)
	}
	r.Note("from the start until all are answered: %.2f s, CPU %.2f s", took.Seconds(), cpu.Seconds())
	r.Note("CPU until it is idle after that, with Events sent about records: %.2f s", idle.Seconds())
	all := float64(d.services)
	r.Check("a transfer has a record for each", float64(z.addresses), all, all, fmt.Sprintf("%d addresses", z.addresses))
	r.Check("and an ownership record", float64(z.owned), all, all, fmt.Sprintf("%d ownership records", z.owned))
	return nil
}

// awaitName waits until BIND answers for a Service with the right address.
func (d *run) awaitName(ctx context.Context, i int) error {
	return d.awaitAddress(ctx, dnsName(i), dnsAddress(i))
}

// awaitAddress waits until BIND answers with this address for a name.
func (d *run) awaitAddress(ctx context.Context, name string, want netip.Addr) error {
	return d.await(ctx, name+" to be "+want.String(), measure.WaitLimit, dnsPoll, func() (bool, error) { return d.server.answers(name, want) })
}

// measureNew gives Services that have none an address, one after the other, and measures
// until BIND answers with it.
func (d *run) measureNew(ctx context.Context, r *measure.Report) error {
	n := d.choice.Scaled(dnsNew, 10)
	err := measure.ForEach(ctx, n, func(ctx context.Context, i int) error { return d.create(ctx, d.services+i) })
	if err != nil {
		return err
	}
	if _, err := measure.UntilIdle(ctx, d.process); err != nil {
		return err
	}
	var latencies []time.Duration
	used, err := d.process.CpuOf(func() error {
		for i := d.services; i < d.services+n; i++ {
			if err := measure.Pause(ctx, 150*time.Millisecond+rand.N(200*time.Millisecond)); err != nil {
				return err
			}
			begun := time.Now()
			if err := d.setAddress(ctx, i); err != nil {
				return err
			}
			if err := d.awaitName(ctx, i); err != nil {
				return err
			}
			latencies = append(latencies, time.Since(begun))
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.services += n
	slices.Sort(latencies)
	r.Note("%d more get an address, one at a time; from that write to BIND's first answer with it:", n)
	r.Note("p50 %.1f ms, most %.1f ms, CPU of signpost %.1f ms each, what goes on beside it included",
		measure.Quantile(latencies, .5), measure.Quantile(latencies, 1), measure.Ms(used)/float64(n))
	r.AtMost("p99 from the Service's status to BIND's answer", "ms", measure.Quantile(latencies, .99), dnsNewWithin)
	r.Note("(ExternalDNS with --events, measured once with as many records: %.1f s each)", float64(dnsOtherNew)/1000)
	return nil
}
