package dns

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/bench/measure"
)

const (
	// tenantServices Services of the namespace tenantLoud have tenantNames names each, in BIND; tenantMany in
	// memory.
	tenantLoud     = "bench-loud"
	tenantServices = 300
	tenantMany     = 1000
	tenantNames    = 100
	// tenantChanges changes of the other namespace are measured before and meanwhile.
	tenantChanges = 30
	// A change may take tenantFactor times as long as without the names, and tenantMore milliseconds.
	tenantFactor = 2
	tenantMore   = 250
	// tenantMemory is the most memory, in MiB, with tenantMany Services whose names are refused but for
	// 10,000.
	tenantMemory = 512
)

// measureTenants measures what a namespace with very many names costs others.
func measureTenants(ctx context.Context, r *measure.Report, c measure.Options) error {
	if err := measureTenantTurns(ctx, r, c); err != nil {
		return fmt.Errorf("turns: %w", err)
	}
	if err := measureTenantMemory(ctx, r, c); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	return nil
}

// measureTenantTurns has one namespace make very many names in BIND, and measures the changes of another one
// meanwhile.
func measureTenantTurns(ctx context.Context, r *measure.Report, c measure.Options) error {
	d, err := newRun(ctx, measure.Options{Scale: 0.01})
	if err != nil {
		return err
	}
	defer d.close()
	d.flags = []string{"--max-names-per-namespace=0"}
	if err := d.start(ctx); err != nil {
		return err
	}
	for i := range d.services {
		if err := d.awaitName(ctx, i); err != nil {
			return err
		}
	}
	quiet, err := d.measureChanges(ctx)
	if err != nil {
		return err
	}
	services := c.Scaled(tenantServices, 3)
	if err := d.loadTenant(ctx, services); err != nil {
		return err
	}
	busy, err := d.measureChanges(ctx)
	if err != nil {
		return err
	}
	z, err := d.server.transfer()
	if err != nil {
		return err
	}
	r.TitleBeside("", "BIND: one namespace makes %d names, another one changes an address", services*tenantNames)
	r.Note("without the names: most %.1f ms; %d of the names were published when the last change was measured", quiet, z.addresses-d.services)
	r.AtMost("longest from the status of the other Service to BIND's answer meanwhile", "ms", busy, tenantFactor*quiet+tenantMore)
	return nil
}

// measureChanges changes the address of a Service again and again, and returns the longest time until BIND's
// answer, in milliseconds.
func (d *run) measureChanges(ctx context.Context) (float64, error) {
	var most time.Duration
	for n := range tenantChanges {
		if err := measure.Pause(ctx, 100*time.Millisecond+rand.N(100*time.Millisecond)); err != nil {
			return 0, err
		}
		target := netip.AddrFrom4([4]byte{198, 19, byte(n), byte(1 + rand.IntN(250))})
		begun := time.Now()
		if err := d.setTarget(ctx, 0, target.String()); err != nil {
			return 0, err
		}
		if err := d.awaitAddress(ctx, dnsName(0), target); err != nil {
			return 0, err
		}
		most = max(most, time.Since(begun))
	}
	return measure.Ms(most), nil
}

// loadTenant creates Services with addresses and very many names in a namespace of their own.
func (d *run) loadTenant(ctx context.Context, services int) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: tenantLoud}}
	if _, err := d.client.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	return measure.ForEach(ctx, services, func(ctx context.Context, i int) error {
		names := make([]string, tenantNames)
		for n := range names {
			names[n] = fmt.Sprintf("loud-%d-%d.%s", i, n, dnsZone)
		}
		s := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: tenantLoud, Name: fmt.Sprintf("loud-%d", i),
				Annotations: map[string]string{
					dnsHostnameOf: strings.Join(names, ","),
					"external-dns.alpha.kubernetes.io/target": fmt.Sprintf("203.0.113.%d", 1+i%250),
				},
			},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: new(false),
				Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
			},
		}
		_, err := d.client.CoreV1().Services(tenantLoud).Create(ctx, s, metav1.CreateOptions{})
		return err
	})
}

// measureTenantMemory has one namespace ask for ten times as many names as it may have.
func measureTenantMemory(ctx context.Context, r *measure.Report, c measure.Options) error {
	d, err := newRun(ctx, measure.Options{Scale: 0.01})
	if err != nil {
		return err
	}
	defer d.close()
	services := c.Scaled(tenantMany, 101)
	if err := d.loadTenant(ctx, services); err != nil {
		return err
	}
	if d.process, err = d.startInMemory(ctx); err != nil {
		return err
	}
	refused := 0.0
	want := float64(services*tenantNames - 10_000)
	for begun := time.Now(); refused < want && time.Since(begun) < measure.WaitLimit; {
		if err := measure.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		values, err := measure.Metric(ctx, "signpost_dns_names_refused")
		if err != nil {
			continue // It is starting.
		}
		refused = 0
		for _, v := range values {
			refused += v
		}
	}
	if err := measure.Pause(ctx, 3*time.Second); err != nil {
		return err
	}
	list, err := d.client.EventsV1().Events(tenantLoud).List(ctx, metav1.ListOptions{FieldSelector: "reason=TooManyNames"})
	if err != nil {
		return err
	}
	peak, err := d.process.PeakMemory()
	if err != nil {
		return err
	}
	r.TitleBeside("", "In memory: one namespace asks for %d names, and may have 10,000", services*tenantNames)
	r.Check("names refused", refused, want, want, fmt.Sprintf("%.0f names", refused))
	r.Check("Events that say so", float64(len(list.Items)), 1, 1, fmt.Sprintf("%d Events", len(list.Items)))
	r.AtMost("peak memory", "MiB", peak/(1<<20), tenantMemory)
	return nil
}

// startInMemory starts the publisher with zones in memory.
func (d *run) startInMemory(ctx context.Context) (*measure.Process, error) {
	return measure.Start(ctx, d.cluster.Dir, measure.SignpostBinary, "dns", "--kubeconfig", d.cluster.Kubeconfig, "--metrics-address", measure.AdminAddr,
		"--source=service", "--policy=sync", "--provider=inmemory", "--inmemory-zone="+dnsZone)
}
