package publisher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/inmemorytest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

// One pass with a creation, an update and a deletion of A and AAAA makes exactly these changes
// (case 187).
func TestPublish(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.start()
		w.objects.set("old", record(t, "old", "old.shop.test", "A", "192.0.2.1"), record(t, "old", "old.shop.test", "AAAA", "2001:db8::1"))
		w.objects.set("same", record(t, "same", "same.shop.test", "A", "192.0.2.1"), record(t, "same", "same.shop.test", "AAAA", "2001:db8::1"))
		waitIdle()
		w.expectZone("old.shop.test A 192.0.2.1", "old.shop.test AAAA 2001:db8::1", "same.shop.test A 192.0.2.1", "same.shop.test AAAA 2001:db8::1")
		w.takeNotices()
		w.objects.set("old")
		w.objects.set("same", record(t, "same", "same.shop.test", "A", "192.0.2.2"), record(t, "same", "same.shop.test", "AAAA", "2001:db8::2"))
		w.objects.set("new", record(t, "new", "new.shop.test", "A", "192.0.2.3"), record(t, "new", "new.shop.test", "AAAA", "2001:db8::3"))
		waitIdle()
		w.expectZone("new.shop.test A 192.0.2.3", "new.shop.test AAAA 2001:db8::3", "same.shop.test A 192.0.2.2", "same.shop.test AAAA 2001:db8::2")
		want := []string{
			"RecordDeleted Deleted old.shop.test A", "RecordDeleted Deleted old.shop.test AAAA",
			"RecordReady Created new.shop.test A", "RecordReady Created new.shop.test AAAA",
			"RecordReady Updated same.shop.test A", "RecordReady Updated same.shop.test AAAA",
		}
		if got := w.takeNotices(); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("case 195, notices: %q, want %q", got, want)
		}
		if left := len(w.listing()); left != 8 {
			t.Errorf("%d record sets with their ownership records, want 8", left)
		}
	})
}

// A single change is made at once, and many changes in one or two batches.
func TestLatency(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		var c called
		w.zones.SetHooks(c.hooks(0))
		w.start()
		waitIdle()
		w.objects.set("lone", record(t, "lone", "lone.shop.test", "A", "192.0.2.1"))
		synctest.Wait()
		if n := len(c.batches()); n != 1 {
			t.Errorf("%d batches for a lone change, before any time has passed; want 1", n)
		}
		for i := range 100 {
			w.objects.set(fmt.Sprint("burst", i), record(t, "burst", fmt.Sprintf("burst%d.shop.test", i), "A", "192.0.2.1"))
			time.Sleep(time.Millisecond / 2)
		}
		waitIdle()
		if n := len(c.batches()); n > 3 {
			t.Errorf("%d batches for a lone change and a burst, want 3 at most", n)
		}
		w.expectSets(101)
	})
}

// Without changes nothing is applied, and the provider is called only for listings (case 191).
func TestIdle(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		var c called
		w.zones.SetHooks(c.hooks(0))
		time.Sleep(5*DefaultInterval + time.Second)
		synctest.Wait()
		if applies, reads, lists := len(c.batches()), len(c.times(inmemorytest.Records)), len(c.times(inmemorytest.Zones)); applies != 0 || reads != 5 || lists != 5 {
			t.Errorf("%d writes, %d listings and %d lists of zones in five intervals, want 5 of both", applies, reads, lists)
		}
	})
}

// External changes are reverted at the next listing. Records of other owners stay unchanged.
func TestDrift(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		foreign := &dns.RecordSet{Name: "foreign.shop.test", Type: "A", TTL: 300, Targets: []string{"192.0.2.9"}}
		w.byHand(dns.Change{New: foreign})
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("f", record(t, "f", "foreign.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1", "foreign.shop.test A 192.0.2.9")
		w.expectNotices(map[string]int{"RecordConflict FailedSync foreign.shop.test A": some})
		for _, r := range w.listing() {
			if r.Name == "a.shop.test" {
				w.byHand(dns.Change{Old: r})
			}
		}
		w.expectZone("foreign.shop.test A 192.0.2.9")
		time.Sleep(DefaultInterval)
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1", "foreign.shop.test A 192.0.2.9")
	})
}

// A record that the provider rejects doesn't delay others.
func TestBisect(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
			for _, change := range c.Changes {
				if strings.HasPrefix(change.RecordSet().Name, "bad") {
					return fmt.Errorf("no such name: %w", provider.ErrRejected)
				}
			}
			return nil
		}})
		w.ask(0, 200, "192.0.2.1")
		w.objects.set("bad", record(t, "bad", "bad.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectSets(200)
		notices := slices.DeleteFunc(w.takeNotices(), func(s string) bool { return strings.HasPrefix(s, ReasonReady) })
		if len(notices) != 1 || !strings.HasPrefix(notices[0], "RecordError FailedSync bad.shop.test A") {
			t.Errorf("notices: %q, want one about bad.shop.test", notices)
		}
		w.working()
		time.Sleep(2 * DefaultInterval)
		waitIdle()
		w.expectSets(201)
	})
}

// Nothing is deleted while a source has not been read, nor for an object that can't be
// evaluated.
func TestNothingIsDeletedWhileSourcesAreUnread(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.1"))
		w.objects.set("gone", record(t, "gone", "gone.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.stop()
		w.objects.fail("a", errors.New("template: no field Spc"))
		w.objects.set("gone")
		var away atomic.Bool
		away.Store(true)
		w.change = func(c *Config) {
			c.Sources = append(c.Sources, NamedSource{Name: "connector", Source: source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) {
				if away.Load() {
					return nil, errors.New("connection refused")
				}
				return nil, nil
			}}})
		}
		w.start()
		w.objects.set("c", record(t, "c", "c.shop.test", "A", "192.0.2.1"))
		time.Sleep(3 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1", "b.shop.test A 192.0.2.1", "gone.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.1")
		w.expectNotices(map[string]int{"SourceNotRead": some, "connection refused": some, "no field Spc": some})
		away.Store(false)
		time.Sleep(2 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1", "b.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.1")
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.2"))
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.2", "b.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.1")
	})
}

// Names outside of the user's filter, or of all zones, are ignored (cases 34, 35, 192, 193).
func TestDomains(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.change = func(c *Config) {
			c.Domains = dns.NewDomainFilter([]string{"in.shop.test"}, []string{"ex.in.shop.test"})
		}
		w.objects.set("in", record(t, "in", "a.in.shop.test", "A", "192.0.2.1"))
		w.objects.set("out", record(t, "out", "a.out.shop.test", "A", "192.0.2.1"))
		w.objects.set("excluded", record(t, "excluded", "a.ex.in.shop.test", "A", "192.0.2.1"))
		w.objects.set("elsewhere", record(t, "elsewhere", "a.in.shop.test.example", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectZone("a.in.shop.test A 192.0.2.1")
	})
}

// Once makes all changes and ends. In a dry run it only reports them (case 197).
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.change = func(c *Config) { c.DryRun = true }
		plans, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit))
		if err != nil || len(plans) != 1 || len(plans[0].Changes) != 1 {
			t.Errorf("dry run: %+v, %v; want one change", plans, err)
		}
		w.expectZone()
		w.change = nil
		if _, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit)); err != nil {
			t.Error(err)
		}
		w.expectZone("a.shop.test A 192.0.2.1")
		w.failing(provider.ErrCredentials, inmemorytest.Records)
		if _, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit)); !errors.Is(err, provider.ErrCredentials) {
			t.Errorf("wrong credentials: %v", err)
		}
	})
}

// With wrong credentials nothing is changed, the error is reported once, and the publisher
// tries again.
func TestCredentials(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.failing(fmt.Errorf("key unknown: %w", provider.ErrCredentials), inmemorytest.Apply)
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.start()
		time.Sleep(3 * DefaultInterval)
		notices := w.takeNotices()
		if len(notices) == 0 || !strings.HasPrefix(notices[0], ReasonProvider) || len(notices) > 2 {
			t.Errorf("notices: %q, want one about the credentials", notices)
		}
		w.working()
		time.Sleep(2 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1")
	})
}

// TestUnreadBeforeChange shows that names aren't blamed if the provider can't read the zone before a change:
// the batch stays whole, and the zone is tried again.
func TestUnreadBeforeChange(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		c := called{fail: func(call inmemorytest.Call) error {
			if call.Operation == inmemorytest.Apply {
				return fmt.Errorf("list the records before they are changed: %w", provider.Unread(provider.ErrRejected))
			}
			return nil
		}}
		w.zones.SetHooks(c.hooks(0))
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"), record(t, "a", "b.shop.test", "A", "192.0.2.2"))
		w.start()
		time.Sleep(3 * DefaultInterval)
		notices := w.takeNotices()
		if len(notices) == 0 || !strings.HasPrefix(notices[0], ReasonProvider) || len(notices) > 2 {
			t.Errorf("notices: %q, want one about the zone", notices)
		}
		w.working()
		time.Sleep(2 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1", "b.shop.test A 192.0.2.2")
		if sizes := c.batches(); slices.Min(sizes) < 4 || len(sizes) > 20 {
			t.Errorf("the calls had %v changes, want 2 records with their ownership records in each", sizes)
		}
	})
}

// Metrics are correct even without any change.
func TestMetrics(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		registry := prometheus.NewRegistry()
		w.change = func(c *Config) { c.Metrics = NewMetrics(registry) }
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.start()
		time.Sleep(DefaultInterval + time.Second)
		w.failing(errors.New("no route to host"), inmemorytest.Zones, inmemorytest.Records)
		time.Sleep(DefaultInterval)
		synctest.Wait()
		start := float64(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
		got := func(name string) float64 { return metrictest.Sum(t, registry, name) }
		for name, want := range map[string]float64{
			"external_dns_controller_last_sync_timestamp_seconds": start + 60,
			"external_dns_controller_no_op_runs_total":            1,
			"external_dns_controller_verified_records":            1,
			"external_dns_registry_endpoints_total":               1,
			"external_dns_registry_records":                       1,
			"external_dns_source_records":                         1,
			"signpost_dns_provider_failing":                       1,
			"signpost_dns_zone_failing":                           1,
		} {
			if got(name) != want {
				t.Errorf("%s is %v, want %v", name, got(name), want)
			}
		}
		if row, all := got("external_dns_controller_consecutive_soft_errors"), got("external_dns_registry_errors_total"); row < 2 || all < 2 {
			t.Errorf("errors: %v in a row, %v in all; want some of both", row, all)
		}
	})
}
