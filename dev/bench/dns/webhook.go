package dns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
)

const (
	webhookServices = 50
	webhookChanges  = 300
	webhookEvery    = 100 * time.Millisecond
	webhookAdjust   = 300 * time.Millisecond
	// webhookLater are further Services, one at a time, after the one that is refused.
	webhookLater = 20
	// In milliseconds: how long a change may take, and how long the first records may take when the
	// provider answers a whole batch with an error on account of one of them.
	webhookWithin      = 2000
	webhookBatchWithin = 5000
)

// errBare is an error that says nothing, as that of a program that fails.
var errBare = errors.New("something went wrong")

// awkward is a provider in memory that takes its time, or that fails on account of one name.
type awkward struct {
	*inmemory.Provider
	takes time.Duration
	// refused is the name that Adjust refuses; deadly is the one at which Apply fails as a whole.
	refused, deadly string
}

// Adjust implements [provider.Adjuster].
func (a *awkward) Adjust(ctx context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	if err := measure.Pause(ctx, a.takes); err != nil {
		return nil, err
	}
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) {
		if a.refused != "" && strings.HasSuffix(r.Name, a.refused) {
			return nil, fmt.Errorf("%w: %s isn't possible", provider.ErrRejected, r.Name)
		}
		return r, nil
	}), nil
}

// Apply implements [provider.Provider].
func (a *awkward) Apply(ctx context.Context, z dns.Zone, changes []dns.Change) error {
	for _, c := range changes {
		if a.deadly != "" && strings.HasSuffix(c.RecordSet().Name, a.deadly) {
			return errBare
		}
	}
	return a.Provider.Apply(ctx, z, changes)
}

// measureWebhook measures publishing through webhooks that are slow, or that can't have one
// of the records.
func measureWebhook(ctx context.Context, r *measure.Report, c measure.Options) error {
	n := c.Scaled(webhookServices, 5)
	bad := dnsLabel(n) + "." + dnsZone
	for _, m := range []struct {
		title   string
		within  float64
		awkward awkward
	}{
		{"a webhook that takes 300 ms for each Adjust, an object changes each 100 ms", 0, awkward{takes: webhookAdjust}},
		{"a webhook that refuses one record of many in Adjust", webhookWithin, awkward{refused: bad}},
		{"a webhook that answers a batch with 500 because of one record", webhookBatchWithin, awkward{deadly: bad}},
	} {
		r.TitleBeside("", "DNS records of %d Services, by %s", n, m.title)
		m.awkward.Provider = inmemory.New(dnsZone)
		w := &webhookRun{zones: m.awkward.Provider, run: run{choice: c, services: n}}
		err := w.begin(ctx, &m.awkward)
		if err == nil && m.within == 0 {
			err = w.measureStream(ctx, r)
		} else if err == nil {
			err = w.measureBeside(ctx, r, m.within)
		}
		w.end()
		if err != nil {
			return err
		}
	}
	return nil
}

// webhookRun is a cluster, a webhook and a publisher between them.
type webhookRun struct {
	run
	zones  *inmemory.Provider
	target *dnsTarget
}

func (w *webhookRun) begin(ctx context.Context, p provider.Provider) error {
	var err error
	if w.target, err = serveWebhook(ctx, p); err != nil {
		return err
	}
	if w.cluster, err = measure.StartCluster(ctx, time.Second); err != nil {
		return err
	}
	if err := w.load(ctx); err != nil {
		return fmt.Errorf("load the cluster: %w", err)
	}
	if err := w.publish(ctx, nil, append([]string{"--interval", dnsInterval.String(), "--txt-prefix=" + killTXTPrefix}, w.target.flags...)...); err != nil {
		return err
	}
	return w.awaitRecords(ctx, 0, w.services)
}

func (w *webhookRun) end() {
	w.close()
	if w.target != nil {
		w.target.close()
	}
}

// has reports whether the zone has a Service's record with an address.
func (w *webhookRun) has(i int, address string) bool {
	r := w.zones.Get(dns.Key{Name: strings.TrimSuffix(dnsName(i), "."), Type: dns.TypeA})
	return r != nil && len(r.Targets) == 1 && r.Targets[0] == address
}

// awaitRecords waits for the records of the Services from one number up to, but without, another.
func (w *webhookRun) awaitRecords(ctx context.Context, from, to int) error {
	for i := from; i < to; i++ {
		err := measure.Poll(ctx, measure.WaitLimit, func() bool { return w.has(i, dnsAddress(i).String()) })
		if err != nil {
			return fmt.Errorf("wait for the record of %s: %w: see %s", dnsName(i), err, w.process.Log)
		}
	}
	return w.process.Ended()
}

// measureStream changes one object after the other, and measures how long each change takes
// until it is published, or replaced by a later one of the same object that is.
func (w *webhookRun) measureStream(ctx context.Context, r *measure.Report) error {
	type change struct {
		at      time.Time
		address string
	}
	open := map[int]change{}
	var slowest time.Duration
	settle := func() {
		for i, c := range open {
			if w.has(i, c.address) {
				slowest = max(slowest, time.Since(c.at))
				delete(open, i)
			}
		}
	}
	n := w.choice.Scaled(webhookChanges, 30)
	for step := range n {
		i := step % w.services
		address := fmt.Sprintf("198.19.%d.%d", step/200, 1+step%200)
		if c, still := open[i]; still {
			slowest = max(slowest, time.Since(c.at))
		}
		open[i] = change{time.Now(), address}
		if err := w.setTarget(ctx, i, address); err != nil {
			return err
		}
		for next := open[i].at.Add(webhookEvery); time.Now().Before(next); settle() {
			if err := measure.Pause(ctx, dnsPoll); err != nil {
				return err
			}
		}
	}
	err := measure.Poll(ctx, measure.WaitLimit, func() bool { settle(); return len(open) == 0 })
	if err != nil {
		return fmt.Errorf("wait for the last changes: %w: see %s", err, w.process.Log)
	}
	r.AtMost(fmt.Sprintf("slowest of %d changes", n), "ms", measure.Ms(slowest), webhookWithin)
	return nil
}

// measureBeside adds as many Services at once as there are, and one whose record is impossible;
// after that further ones, one at a time.
func (w *webhookRun) measureBeside(ctx context.Context, r *measure.Report, within float64) error {
	bad, n := w.services, w.services
	begun := time.Now()
	err := measure.ForEach(ctx, n+1, func(ctx context.Context, i int) error {
		if err := w.create(ctx, bad+i); err != nil {
			return err
		}
		return w.setAddress(ctx, bad+i)
	})
	if err != nil {
		return err
	}
	created := time.Since(begun)
	if err := w.awaitRecords(ctx, bad+1, bad+1+n); err != nil {
		return err
	}
	r.Note("%d good records and the bad one, asked for within %.0f ms", n, measure.Ms(created))
	r.AtMost("until all good ones are published", "ms", measure.Ms(time.Since(begun)), within)
	var slowest time.Duration
	for i := range w.choice.Scaled(webhookLater, 3) {
		later := bad + 1 + n + i
		begun := time.Now()
		if err := w.create(ctx, later); err != nil {
			return err
		}
		if err := w.setAddress(ctx, later); err != nil {
			return err
		}
		if err := w.awaitRecords(ctx, later, later+1); err != nil {
			return err
		}
		slowest = max(slowest, time.Since(begun))
	}
	r.AtMost("slowest of those that come later, one at a time", "ms", measure.Ms(slowest), webhookWithin)
	log, err := os.ReadFile(w.process.Log)
	if err != nil {
		return err
	}
	named := 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, dnsLabel(bad)+"."+dnsZone) && strings.Contains(line, "Can't change a record") {
			named++
		}
	}
	r.Check("lines of the log that name the bad one", float64(named), 1, 5, fmt.Sprint(named))
	return nil
}
