package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/internal/childprocess"
)

const (
	dnsServices = 2000
	dnsNew      = 100
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

// measureDNS measures `signpost dns` with a real BIND.
func measureDNS(ctx context.Context, r *report, c choice) error {
	if c.wants("plan") {
		if err := measureDNSPlan(ctx, r); err != nil {
			return err
		}
	}
	if c.wants("calls") {
		if err := measureDNSCalls(ctx, r); err != nil {
			return err
		}
	}
	if c.wants("webhook") {
		if err := measureDNSWebhook(ctx, r, c); err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
	}
	if c.wants("kill") {
		if err := measureDNSKills(ctx, r, c); err != nil {
			return fmt.Errorf("kills: %w", err)
		}
	}
	if c.wants("hostile") {
		if err := measureDNSHostile(ctx, r); err != nil {
			return fmt.Errorf("hostile servers: %w", err)
		}
	}
	if c.wants("tenants") {
		if err := measureDNSTenants(ctx, r, c); err != nil {
			return fmt.Errorf("tenants: %w", err)
		}
	}
	if !c.wants("publish") && !c.wants("idle") {
		return nil
	}
	d, err := newDNSRun(ctx, c)
	if err != nil {
		return err
	}
	defer d.close()
	r.titleBeside("", "DNS records of %d Services in BIND, by signpost dns", d.services)
	if err := d.measureFirst(ctx, r); err != nil {
		return fmt.Errorf("first publication: %w", err)
	}
	if c.wants("publish") {
		if err := d.measureNew(ctx, r); err != nil {
			return fmt.Errorf("new records: %w", err)
		}
	}
	if c.wants("idle") {
		if err := d.measureIdle(ctx, r); err != nil {
			return fmt.Errorf("idle: %w", err)
		}
	}
	memory, err := d.process.peakMemory()
	if err != nil {
		return err
	}
	r.note("peak memory: %.1f MB", memory/(1<<20))
	return nil
}

// dnsRun is a cluster with Services, a DNS server and the publisher between them.
type dnsRun struct {
	choice   choice
	services int
	cluster  *cluster
	client   *kubernetes.Clientset
	server   *dnsServer
	process  *process
	// flags are further ones of the publisher.
	flags []string
	// lists is how often the API server had listed objects when the publisher was started.
	lists int
}

// newDNSRun starts everything but the publisher, and creates the Services.
func newDNSRun(ctx context.Context, c choice) (*dnsRun, error) {
	d := &dnsRun{choice: c, services: c.scaled(dnsServices, 20)}
	var err error
	if d.server, err = startDNSServer(ctx); err != nil {
		return nil, err
	}
	if d.cluster, err = startCluster(ctx, time.Second); err != nil {
		d.close()
		return nil, err
	}
	if err := d.load(ctx); err != nil {
		d.close()
		return nil, fmt.Errorf("load the cluster: %w", err)
	}
	return d, nil
}

func (d *dnsRun) close() {
	if d.process != nil {
		d.process.stop()
	}
	if d.cluster != nil {
		d.cluster.stop()
	}
	d.server.close()
}

// start starts the publisher.
func (d *dnsRun) start(ctx context.Context) error {
	metrics, err := childprocess.Address()
	if err != nil {
		return err
	}
	addr := d.server.bind.Addr
	d.process, err = start(ctx, d.cluster.dir, signpostBinary, append([]string{
		"dns",
		"--kubeconfig", d.cluster.kubeconfig, "--metrics-address", metrics, "--interval", dnsInterval.String(),
		"--source=service", "--policy=sync", "--txt-prefix=%{record_type}-",
		"--provider=rfc2136", "--rfc2136-host=" + addr.Addr().String(), fmt.Sprintf("--rfc2136-port=%d", addr.Port()),
		"--rfc2136-zone=" + dnsZone, "--rfc2136-axfr", "--rfc2136-tsig-keyname=" + d.server.key.Name,
		"--rfc2136-tsig-secret-alg=" + d.server.key.Algorithm, "--rfc2136-tsig-secret=" + d.server.key.Secret,
	}, d.flags...)...)
	return err
}

// measureFirst measures from the start of the publisher until BIND answers for all Services.
func (d *dnsRun) measureFirst(ctx context.Context, r *report) error {
	var err error
	if d.lists, err = d.cluster.lists(ctx); err != nil {
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
	cpu, err := d.process.cpuTime()
	if err != nil {
		return err
	}
	z, err := d.server.transfer()
	if err != nil {
		return err
	}
	idle, err := untilIdle(ctx, d.process)
	if err != nil {
		return fmt.Errorf("wait until it is idle: %w", err)
	}
	r.note("from the start until all are answered: %.2f s, CPU %.2f s", took.Seconds(), cpu.Seconds())
	r.note("CPU until it is idle after that, with Events sent about records: %.2f s", idle.Seconds())
	all := float64(d.services)
	r.check("a transfer has a record for each", float64(z.addresses), all, all, fmt.Sprintf("%d addresses", z.addresses))
	r.check("and an ownership record", float64(z.owned), all, all, fmt.Sprintf("%d ownership records", z.owned))
	return nil
}

// awaitName waits until BIND answers for a Service with the right address.
func (d *dnsRun) awaitName(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, controllersWithin, errTimeout)
	defer cancel()
	for {
		found, err := d.server.answers(dnsName(i), dnsAddress(i))
		if found || err != nil {
			return err
		}
		if err := d.process.ended(); err != nil {
			return err
		}
		if pause(ctx, dnsPoll) != nil {
			return fmt.Errorf("wait for %s: %w: see %s", dnsName(i), context.Cause(ctx), d.process.log)
		}
	}
}

// measureNew gives Services that have none an address, one after the other, and measures
// until BIND answers with it.
func (d *dnsRun) measureNew(ctx context.Context, r *report) error {
	n := d.choice.scaled(dnsNew, 10)
	err := each(ctx, n, func(ctx context.Context, i int) error { return d.create(ctx, d.services+i) })
	if err != nil {
		return err
	}
	if _, err := untilIdle(ctx, d.process); err != nil {
		return err
	}
	before, err := d.process.cpuTime()
	if err != nil {
		return err
	}
	var latencies []time.Duration
	for i := d.services; i < d.services+n; i++ {
		if err := pause(ctx, 150*time.Millisecond+rand.N(200*time.Millisecond)); err != nil {
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
	after, err := d.process.cpuTime()
	if err != nil {
		return err
	}
	d.services += n
	slices.Sort(latencies)
	r.note("%d more get an address, one at a time; from that write to BIND's first answer with it:", n)
	r.note("p50 %.1f ms, most %.1f ms, CPU of signpost %.1f ms each, what goes on beside it included",
		quantile(latencies, .5), quantile(latencies, 1), ms(after-before)/float64(n))
	r.atMost("p99 from the Service's status to BIND's answer", "ms", quantile(latencies, .99), dnsNewWithin)
	r.note("(ExternalDNS with --events, measured once with as many records: %.1f s each)", float64(dnsOtherNew)/1000)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
