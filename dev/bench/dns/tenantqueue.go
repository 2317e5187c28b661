package dns

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
)

// tenantObjects objects with tenantNames names each are evaluated by a publisher in this process.
const tenantObjects = 3000

// measureTenantQueue measures a publisher in this process, without an API server and with zones in memory:
// what is left is the queue.
func measureTenantQueue(ctx context.Context, r *measure.Report) error {
	q, err := newTenantQueue()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = q.publisher.Run(ctx) })
	running.Go(func() { _ = q.publisher.Lead(ctx) })
	defer running.Wait()
	defer cancel()
	quiet, err := q.measure(ctx)
	if err != nil {
		return err
	}
	for i := range tenantObjects {
		q.set(tenantLoud, fmt.Sprintf("loud-%d", i), tenantNames, "203.0.113.1")
	}
	busy, err := q.measure(ctx)
	if err != nil {
		return err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	r.TitleBeside("", "In memory, in this process: one namespace makes %d names, another one changes an address", tenantObjects*tenantNames)
	r.Note("without the names: most %.1f ms; %d of the names were published when the last change was measured", quiet, q.provider.applied())
	r.AtMost("longest from the change of the other object to its record meanwhile", "ms", busy, tenantFactor*quiet+tenantMore)
	return nil
}

// tenantQueue is a publisher whose objects are made up.
type tenantQueue struct {
	publisher *publisher.Publisher
	provider  *watchedProvider

	mu      sync.Mutex
	records map[source.Key][]*dns.RecordSet
}

func newTenantQueue() (*tenantQueue, error) {
	q := &tenantQueue{records: map[source.Key][]*dns.RecordSet{}, provider: &watchedProvider{Provider: inmemory.New(dnsZone), made: make(chan string, 1)}}
	want, err := desired.New(desired.Options{Sources: []string{"service"}})
	if err != nil {
		return nil, err
	}
	own, err := owner.NewTXT(owner.TXTOptions{OwnerID: "me", Prefix: "own-"})
	if err != nil {
		return nil, err
	}
	q.publisher, err = publisher.New(publisher.Config{
		Sources: []publisher.NamedSource{{Name: "service", Source: source.Source{Evaluate: q.evaluate}}},
		Desired: want, Owner: own, Provider: q.provider, Log: slog.New(slog.DiscardHandler),
		Budget: budget.DefaultLimits(),
		Rules:  plan.Rules{Policy: plan.Sync, Owner: "me", Managed: plan.DefaultManaged()},
	})
	return q, err
}

func (q *tenantQueue) evaluate(key source.Key) source.Result {
	q.mu.Lock()
	defer q.mu.Unlock()
	return source.Result{Records: q.records[key]}
}

// set has an object ask for names with an address.
func (q *tenantQueue) set(namespace, name string, names int, address string) {
	key := source.Key{Kind: "Service", Namespace: namespace, Name: name}
	object := dns.Object{APIVersion: "v1", Kind: "Service", Namespace: namespace, Name: name, Source: "service"}
	labels := map[string]string{dns.LabelResource: "service/" + namespace + "/" + name}
	records := make([]*dns.RecordSet, names)
	for i := range records {
		records[i] = &dns.RecordSet{
			Name: fmt.Sprintf("%s-%d.%s", name, i, dnsZone), Type: dns.TypeA, Targets: []string{address}, Labels: labels, Objects: []dns.Object{object},
		}
	}
	q.mu.Lock()
	q.records[key] = records
	q.mu.Unlock()
	publisher.Changed(func() *publisher.Publisher { return q.publisher }, 0)(key)
}

// measure changes the address of an object of the other namespace again and again, and returns the longest
// time until its record has it, in milliseconds.
func (q *tenantQueue) measure(ctx context.Context) (float64, error) {
	var most time.Duration
	for n := range tenantChanges {
		if err := measure.Pause(ctx, 150*time.Millisecond); err != nil {
			return 0, err
		}
		address := fmt.Sprintf("198.19.%d.%d", n, time.Now().Nanosecond()%250+1)
		q.provider.watch("calm-0."+dnsZone, address)
		begun := time.Now()
		q.set("calm", "calm", 1, address)
		select {
		case <-q.provider.made:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		most = max(most, time.Since(begun))
	}
	return measure.Ms(most), nil
}

// watchedProvider says when a record has an address.
type watchedProvider struct {
	provider.Provider
	mu            sync.Mutex
	name, address string
	changes       int
	made          chan string
}

func (p *watchedProvider) watch(name, address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name, p.address = name, address
}

// applied returns how many changes of addresses there were.
func (p *watchedProvider) applied() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changes
}

// Apply implements [provider.Provider].
func (p *watchedProvider) Apply(ctx context.Context, z dns.Zone, changes []dns.Change) error {
	if err := p.Provider.Apply(ctx, z, changes); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range changes {
		if c.New == nil || c.New.Type != dns.TypeA {
			continue
		}
		p.changes++
		if c.New.Name == p.name && c.New.Targets[0] == p.address {
			p.made <- p.name
		}
	}
	return nil
}
