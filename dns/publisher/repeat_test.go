package publisher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// unprefixed gives a fixture an owner without a prefix, so that the ownership record of the apex is
// outside of the zone.
func unprefixed(t testing.TB, old string) func(*Config) {
	return ownedBy(t, owner.TXTOptions{OwnerID: "me", OldOwnerID: old})
}

// liar is a provider whose server doesn't apply changes, or lists wrong records. It counts the
// calls.
type liar struct {
	*inmemorytest.Provider
	mu             sync.Mutex
	reads, applies int
	// list changes a listing, and lose drops changes instead of applying them.
	list func(call int, records []*dns.RecordSet) []*dns.RecordSet
	lose func(call int, c dns.Change) bool
	err  func(call int) error
}

func (l *liar) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	records, err := l.Provider.Records(ctx, zone)
	if l.reads++; l.list != nil {
		records = l.list(l.reads, records)
	}
	return records, err
}

// Apply compares with what it lists, as the provider webhook does.
func (l *liar) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	l.mu.Lock()
	l.applies++
	call := l.applies
	l.mu.Unlock()
	now, err := l.Records(ctx, zone)
	if err != nil {
		return err
	}
	if l.err != nil && l.err(call) != nil {
		return l.err(call)
	}
	return provider.ApplyUnchanged(changes, now, func(changes []dns.Change) error {
		for _, c := range changes {
			if l.lose != nil && l.lose(call, c) {
				continue
			}
			if c.New == nil {
				l.Delete(c.Old.Key())
			} else if err := l.Put(c.New); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *liar) calls() (reads, applies int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads, l.applies
}

// with returns records in which those of www have other targets.
func with(records []*dns.RecordSet, sets ...[]string) []*dns.RecordSet {
	others := slices.DeleteFunc(slices.Clone(records), func(r *dns.RecordSet) bool { return r.Name == "www."+zoneName && r.Type == dns.TypeA })
	for _, targets := range sets {
		others = append(others, &dns.RecordSet{Name: "www." + zoneName, Type: dns.TypeA, Targets: targets})
	}
	return others
}

// A change without effect is never shown as published, also not between a write and the next listing.
// It is when a listing shows its result.
func TestRowsOfChangeWithoutEffect(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		var loses atomic.Bool
		loses.Store(true)
		w.provider = &liar{Provider: w.zones, lose: func(_ int, c dns.Change) bool {
			return loses.Load() && c.RecordSet().Type == dns.TypeA
		}}
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"), record(t, "web", "www."+zoneName, "AAAA", "2001:db8::1"))
		w.start()
		time.Sleep(5 * DefaultInterval)
		states := map[string]int{}
		for range 100 {
			time.Sleep(DefaultInterval / 10)
			for _, line := range w.rowLines(RowFilter{Search: "www"}) {
				states[strings.Join(strings.Fields(line)[:3], " ")]++
			}
		}
		if states["www.shop.test A failing"] != 100 || states["www.shop.test AAAA published"] != 100 {
			t.Errorf("states: %v", states)
		}
		loses.Store(false)
		time.Sleep(3 * DefaultInterval)
		expectLines(t, w.rowLines(RowFilter{Search: "www"}), "www.shop.test A published", "www.shop.test AAAA published")
	})
}

// A deletion without effect has a row, also between a write and the next listing, until a listing shows that
// the record set is gone.
func TestRowsOfDeletionWithoutEffect(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		var keeps atomic.Bool
		w.provider = &liar{Provider: w.zones, lose: func(_ int, c dns.Change) bool {
			return keeps.Load() && c.New == nil
		}}
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		keeps.Store(true)
		w.objects.set("web")
		time.Sleep(5 * DefaultInterval)
		states := map[string]int{}
		for range 200 {
			time.Sleep(DefaultInterval / 10)
			for _, line := range w.rowLines(RowFilter{Search: "www"}) {
				states[strings.Join(strings.Fields(line)[:3], " ")]++
			}
			if trace, err := w.publisher.Trace(t.Context(), "www."+zoneName); err != nil || len(trace.HoldingZones[0].Rows) == 0 {
				t.Fatalf("the trace has no row: %+v, %v", trace.HoldingZones, err)
			}
		}
		if states["www.shop.test A failing"] != 200 {
			t.Errorf("states: %v", states)
		}
		keeps.Store(false)
		time.Sleep(20 * DefaultInterval)
		expectLines(t, w.rowLines(RowFilter{Search: "www"}))
	})
}

// liars are kinds of providers that lie.
var liars = map[string]func(*liar){
	"peers P2: lists a name in two parts": func(l *liar) {
		l.list = func(_ int, records []*dns.RecordSet) []*dns.RecordSet {
			return with(records, []string{"192.0.2.1"}, []string{"192.0.2.2"})
		}
	},
	"lists the parts in turns": func(l *liar) {
		l.list = func(call int, records []*dns.RecordSet) []*dns.RecordSet {
			return with(records, []string{fmt.Sprintf("192.0.2.%d", 1+call%2)})
		}
	},
	"lists something else each time": func(l *liar) {
		l.list = func(call int, records []*dns.RecordSet) []*dns.RecordSet {
			return with(records, []string{fmt.Sprintf("198.51.100.%d", call%250)})
		}
	},
	"lists nothing": func(l *liar) {
		l.list = func(int, []*dns.RecordSet) []*dns.RecordSet { return nil }
	},
	"lists nothing every other time": func(l *liar) {
		l.list = func(call int, records []*dns.RecordSet) []*dns.RecordSet {
			if call%2 == 0 {
				return nil
			}
			return records
		}
	},
	"ignores writes":            func(l *liar) { l.lose = func(int, dns.Change) bool { return true } },
	"ignores ownership records": func(l *liar) { l.lose = func(_ int, c dns.Change) bool { return changesOwnership(c) } },
	"ignores every other write": func(l *liar) { l.lose = func(call int, _ dns.Change) bool { return call%2 == 0 } },
	"says that everything is out of date": func(l *liar) {
		l.err = func(int) error { return provider.ErrStale }
	},
	"says so of each change": func(l *liar) {
		l.err = func(call int) error { return fmt.Errorf("%w: state %d", provider.ErrStale, call) }
	},
}

// However a provider handles its changes, an hour costs a bounded number of requests, and the
// failure is reported once. Other names are published (peers P2: 340 requests a second, and as many
// log lines).
func TestLiars(t *testing.T) {
	for name, lie := range liars {
		t.Run(name, func(t *testing.T) {
			for _, change := range []func(*Config){nil, unowned} {
				synctest.Test(t, func(t *testing.T) {
					if failed := lieFor(t, lie, change); failed > 4 {
						t.Errorf("%d Events about failures", failed)
					}
				})
			}
		})
	}
}

// unowned is for --registry=noop.
func unowned(c *Config) { c.Owner, c.Rules.Owner = owner.None{}, "" }

// lieFor runs a publisher for an hour, and returns how many Events there were about failures.
func lieFor(t *testing.T, lie func(*liar), change func(*Config)) (failed int) {
	w := newFixture(t)
	l := &liar{Provider: w.zones}
	lie(l)
	w.provider = l
	w.change = change
	w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1", "192.0.2.2"))
	w.start()
	defer w.stop()
	time.Sleep(time.Hour)
	reads, applies := l.calls()
	// A zone is listed once a minute, after which a provider that is sometimes right may be tried three times.
	// Each write lists the zone once, and once more if it is out of date.
	if applies > 150 || reads > 500 {
		t.Errorf("%d writes and %d listings in an hour", applies, reads)
	}
	for _, line := range w.takeNotices() {
		if strings.Contains(line, "FailedSync") {
			failed++
		}
	}
	return failed
}

// A provider that lies at random isn't called more often. After it was right for a while, a failure
// is reported again.
func TestRandomLiars(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		synctest.Test(t, func(t *testing.T) {
			lieFor(t, func(l *liar) {
				random := rand.New(rand.NewPCG(seed, 1))
				kinds := 1 + random.IntN(7)
				l.list = func(_ int, records []*dns.RecordSet) []*dns.RecordSet {
					switch random.IntN(kinds) {
					case 1:
						return nil
					case 2:
						return with(records)
					case 3:
						return with(records, []string{"192.0.2.1"}, []string{"192.0.2.2"})
					case 4:
						return with(records, []string{fmt.Sprintf("198.51.100.%d", random.IntN(4))})
					}
					return records
				}
				l.lose = func(int, dns.Change) bool { return kinds > 2 && random.IntN(kinds) == 1 }
				l.err = func(int) error {
					if kinds > 5 && random.IntN(3) == 1 {
						return provider.ErrStale
					}
					return nil
				}
			}, nil)
		})
	})
}

// Once returns an error with the name whose change has no effect.
func TestOnceWithALiar(t *testing.T) {
	for name, lie := range liars {
		if strings.Contains(name, "every other") || strings.Contains(name, "P2") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				l := &liar{Provider: w.zones}
				lie(l)
				w.provider, w.change = l, unowned
				w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1", "192.0.2.2"))
				p := w.make()
				begun := time.Now()
				_, err := p.Once(t.Context(), closedChannel(), Within(2*time.Minute))
				if stale := l.err != nil || name == "lists the parts in turns" || name == "lists something else each time"; stale && (err == nil || !strings.Contains(err.Error(), "www."+zoneName)) {
					t.Errorf("error: %v", err)
				}
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// If a key is listed twice, the later record set counts (spec/dns.md §3.2), for the plan and for a
// provider that compares before it writes, so that the change is accepted (peers P2).
func TestListedTwice(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		l := &liar{Provider: w.zones}
		l.list = func(_ int, records []*dns.RecordSet) []*dns.RecordSet {
			var parts []*dns.RecordSet
			for _, r := range records {
				for _, target := range r.Targets {
					part := *r
					part.Targets = []string{target}
					parts = append(parts, &part)
				}
			}
			return parts
		}
		w.provider = l
		w.change = unowned
		w.byHand(dns.Change{New: &dns.RecordSet{Name: "www." + zoneName, Type: dns.TypeA, Targets: []string{"192.0.2.7", "192.0.2.8"}}})
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1", "192.0.2.2"))
		w.start()
		waitIdle()
		w.expectZone("www.shop.test A 192.0.2.1,192.0.2.2")
		w.expectNotices(map[string]int{"FailedSync": 0})
	})
}

// The record at the apex of a zone has an ownership record in the format without a type, beside it,
// because one in the present format would be outside of the zone. Nothing is written again and
// again, and the record stays ours (clouds F1).
func TestApexWithOldOwnershipRecord(t *testing.T) {
	for _, who := range []string{"me", "before"} {
		t.Run(who, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				l := &liar{Provider: w.zones}
				w.provider = l
				w.change = unprefixed(t, "before")
				for _, r := range []*dns.RecordSet{
					{Name: zoneName, Type: dns.TypeA, Targets: []string{"192.0.2.1"}},
					{Name: zoneName, Type: dns.TypeTXT, Targets: []string{`"heritage=external-dns,external-dns/owner=` + who + `,external-dns/resource=service/default/web"`}},
				} {
					w.byHand(dns.Change{New: r})
				}
				w.objects.set("web", record(t, "web", zoneName, "A", "192.0.2.1"))
				w.start()
				time.Sleep(10 * time.Minute)
				if _, applies := l.calls(); applies > 0 {
					t.Errorf("%d writes", applies)
				}
				w.objects.set("web", record(t, "web", zoneName, "A", "192.0.2.2"))
				waitIdle()
				w.expectZone("shop.test A 192.0.2.2")
			})
		})
	}
}

// blind is a provider whose records can't be listed.
type blind struct{ *liar }

func (b blind) Capabilities() provider.Capabilities {
	c := b.liar.Capabilities()
	c.Blind = true
	return c
}

// Records that can't be listed are written again, which reverts external changes. Only a new record
// is reported, not each write (dns F20).
func TestBlindWritesAgain(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		l := &liar{Provider: w.zones}
		blindly := func(int, []*dns.RecordSet) []*dns.RecordSet { return nil }
		l.list = blindly
		w.provider = blind{l}
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		time.Sleep(10 * time.Minute)
		if _, applies := l.calls(); applies < 5 || applies > 12 {
			t.Errorf("%d writes in 10 minutes", applies)
		}
		w.expectNotices(map[string]int{"RecordReady": 1, "FailedSync": 0})
		if n := testutil.ToFloat64(w.publisher.Metrics.reasserted); n < 5 {
			t.Errorf("%v names were counted as written again", n)
		}
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.2"))
		waitIdle()
		w.expectNotices(map[string]int{"RecordReady": 1})
	})
}

// A name whose change has no effect is counted until a listing shows the wanted records.
func TestRepeatedIsCounted(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		l := &liar{Provider: w.zones}
		var works atomic.Bool
		l.lose = func(int, dns.Change) bool { return !works.Load() }
		w.provider = l
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		time.Sleep(10 * time.Minute)
		counted := func() float64 {
			return testutil.ToFloat64(w.publisher.Metrics.repeating.WithLabelValues(zoneName, zoneName))
		}
		if n := counted(); n != 1 {
			t.Errorf("%v names are counted", n)
		}
		w.expectNotices(map[string]int{"the same change was made three times": 1})
		works.Store(true)
		time.Sleep(5 * time.Minute)
		w.expectZone("www.shop.test A 192.0.2.1")
		if n := counted(); n != 0 {
			t.Errorf("%v names are counted in the end", n)
		}
		synctest.Wait() // for what the publisher has done, as the race detector sees it
		if len(w.publisher.zones.sorted()[0].names.trials) > 0 {
			t.Error("the trial is remembered although a listing has shown the record")
		}
	})
}

// Owner labels of a provider are ignored: a record that it lists with our owner isn't ours (tenants
// S5).
func TestProviderLabelsDontCount(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		l := &liar{Provider: w.zones}
		l.list = func(_ int, records []*dns.RecordSet) []*dns.RecordSet {
			var labelled []*dns.RecordSet
			for _, r := range records {
				r := *r
				r.Labels = map[string]string{dns.LabelOwner: "me", dns.LabelOwnedRecord: "victim." + zoneName}
				labelled = append(labelled, &r)
			}
			return labelled
		}
		w.provider = l
		w.byHand(dns.Change{New: &dns.RecordSet{Name: "www." + zoneName, Type: dns.TypeA, Targets: []string{"203.0.113.66"}}})
		w.start()
		time.Sleep(5 * time.Minute)
		if _, applies := l.calls(); applies > 0 {
			t.Errorf("%d writes", applies)
		}
		w.expectZone("www.shop.test A 203.0.113.66")
	})
}
