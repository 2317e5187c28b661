package publisher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/testkit/dynamodbtest"
	"github.com/signpostd/signpost/testkit/inmemorytest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

// A name is held by the public zones with the longest name, and by every private zone that
// contains it.
func TestHolders(t *testing.T) {
	set := map[dns.ZoneKey]*zone{}
	for _, z := range []dns.Zone{
		{ID: "1", Name: "shop.test"},
		{ID: "2", Name: "Eu.shop.test"},
		{ID: "3", Name: "eu.shop.test"},
		{ID: "4", Name: "shop.test", Private: true},
		{ID: "5", Name: "de.eu.shop.test", Private: true},
		{ID: "6", Name: "de.eu.shop.test", Private: true},
		{ID: "7", Name: "other.test", Private: true},
	} {
		set[z.Key()] = &zone{Zone: z, mirror: newMirror()}
	}
	zones := newZoneSet(set, nil, nil)
	by := func(id string) *zone {
		for k, z := range set {
			if k.ID == id {
				return z
			}
		}
		return nil
	}
	for name, want := range map[string]string{
		"www.shop.test":       "1 4",
		"shop.test":           "1 4",
		"www.eu.shop.test":    "2 3 4",
		"www.de.eu.shop.test": "2 3 5 6 4",
		"xde.eu.shop.test":    "2 3 4",
		"www.other.test":      "7",
		"test":                "",
	} {
		var got []string
		for _, z := range zones.zonesFor(name) {
			got = append(got, z.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is held by %q, want %q", name, got, want)
		}
	}
	for _, test := range []struct{ of, name, want string }{
		{"3", "a.eu.shop.test", "3"},
		{"2", "a-eu.shop.test", "1"},
		{"6", "a.de.eu.shop.test", "6"},
		{"6", "a-de.eu.shop.test", "4"},
		{"1", "a-other.test", ""},
		{"1", "www.other.test", "7"},
	} {
		got := ""
		if z := zones.owningZone(by(test.of), test.name); z != nil {
			got = z.ID
		}
		if got != test.want {
			t.Errorf("what zone %s has at %s is in %q, want %q", test.of, test.name, got, test.want)
		}
	}
}

// A registry outside of the zones has one claim for a name, so only one of two zones of one name is
// used. A manual record in the other zone doesn't count as ours.
func TestTwinsOutside(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		if err := w.zones.CreatePrivateZone(zoneName); err != nil {
			t.Fatal(err)
		}
		private := dns.Zone{ID: "private/" + zoneName, Name: zoneName, Private: true}
		hers := &dns.RecordSet{Name: "www." + zoneName, Type: "A", TTL: 300, Targets: []string{"203.0.113.1"}}
		if err := w.zones.Apply(t.Context(), private, []dns.Change{{New: hers}}); err != nil {
			t.Fatal(err)
		}
		me, err := inTable(dynamodbtest.New(t))("me", nil)
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		w.change = func(c *Config) { c.Owner, c.Log = me, slog.New(slog.NewTextHandler(&log, nil)) }
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.2"))
		time.Sleep(3 * w.publisher.Interval)
		w.expectZone("www."+zoneName+" A 192.0.2.2", "www."+zoneName+" A 203.0.113.1")
		w.stop()
		if records := w.in(private); len(records) != 1 || line(records[0]) != line(hers) {
			t.Errorf("the private zone has %v, want %s", describeAll(records), line(hers))
		}
		if !strings.Contains(log.String(), "A zone gets no records") || !strings.Contains(log.String(), private.ID) {
			t.Errorf("nothing says that the private zone isn't used:\n%s", &log)
		}
	})
}

// Each of two zones of one name gets all records with their ownership records, and drift is fixed
// in each (D15).
func TestTwins(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		if err := w.zones.CreatePrivateZone(zoneName); err != nil {
			t.Fatal(err)
		}
		public, private := dns.Zone{ID: zoneName, Name: zoneName}, dns.Zone{ID: "private/" + zoneName, Name: zoneName, Private: true}
		note := dns.Change{New: &dns.RecordSet{Name: "b." + zoneName, Type: "TXT", TTL: 300, Targets: []string{`"hello"`}}}
		hers := dns.Change{New: &dns.RecordSet{Name: "c." + zoneName, Type: "A", TTL: 300, Targets: []string{"203.0.113.1"}}}
		if err := w.zones.Apply(t.Context(), private, []dns.Change{note, hers}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c"} {
			w.objects.set(name, record(t, name, name+"."+zoneName, "A", "192.0.2.1"))
		}
		w.start()
		waitIdle()
		const a, b, c = "a.shop.test A", "b.shop.test A", "c.shop.test A"
		const ownA, ownB, ownC = "own-a-a.shop.test TXT", "own-a-b.shop.test TXT", "own-a-c.shop.test TXT"
		want := func(z dns.Zone, want ...string) {
			t.Helper()
			var got []string
			for _, r := range w.in(z) {
				got = append(got, r.Name+" "+r.Type)
			}
			if !slices.Equal(got, want) {
				t.Errorf("zone %s has %q, want %q", z.ID, got, want)
			}
		}
		want(public, a, b, c, ownA, ownB, ownC)
		want(private, a, b, "b.shop.test TXT", c, ownA, ownB)
		w.expectNotices(map[string]int{"RecordConflict": 1})
		// A record that is removed from one zone is created there again.
		for _, z := range []dns.Zone{private, public} {
			records := w.in(z)
			i := slices.IndexFunc(records, func(r *dns.RecordSet) bool { return r.Name == "a."+zoneName })
			if err := w.zones.Apply(t.Context(), z, []dns.Change{{Old: records[i]}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(DefaultInterval + time.Second)
			want(public, a, b, c, ownA, ownB, ownC)
			want(private, a, b, "b.shop.test TXT", c, ownA, ownB)
		}
		for _, name := range []string{"a", "b", "c"} {
			w.objects.set(name)
		}
		waitIdle()
		want(public)
		want(private, "b.shop.test TXT", c)
	})
}

// cut returns a provider that adds record sets to the listing of the parent zone, and the changes
// that it gets.
func (w *fixture) cut(extra []*dns.RecordSet) (p *altered, changes func() []string) {
	var mu sync.Mutex
	var calls []string
	p = &altered{
		Provider: w.zones,
		records: func(z dns.Zone, records []*dns.RecordSet) []*dns.RecordSet {
			if z.Name == zoneName {
				records = append(records, extra...)
			}
			return records
		},
		apply: func(ctx context.Context, z dns.Zone, changes []dns.Change) error {
			mu.Lock()
			defer mu.Unlock()
			for _, change := range changes {
				calls = append(calls, z.Name+": "+describe(change))
			}
			return w.zones.Apply(ctx, z, changes)
		},
	}
	return p, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(slices.Values(calls))
	}
}

// A parent zone that lists names of its child zone, such as the NS records at the cut, doesn't plan
// them (D6).
func TestZoneCut(t *testing.T) {
	for _, test := range []struct {
		name  string
		extra []*dns.RecordSet
	}{
		{"delegation", []*dns.RecordSet{{Name: "eu." + zoneName, Type: "NS", TTL: 300, Targets: []string{"ns1.example.net"}}}},
		{"what is left", []*dns.RecordSet{
			{Name: "a.eu." + zoneName, Type: "A", TTL: 300, Targets: []string{"192.0.2.66"}},
			{Name: "old.eu." + zoneName, Type: "A", TTL: 300, Targets: []string{"192.0.2.66"}},
			{Name: "a-.old.eu." + zoneName, Type: "TXT", TTL: 300, Targets: []string{`"heritage=external-dns,external-dns/owner=me"`}},
			{Name: "a-.gone.eu." + zoneName, Type: "TXT", TTL: 300, Targets: []string{`"heritage=external-dns,external-dns/owner=me"`}},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.createZone("eu.shop.test")
				var called func() []string
				w.provider, called = w.cut(test.extra)
				w.change = ownedBy(t, owner.TXTOptions{OwnerID: "me", Prefix: "%{record_type}-."})
				w.objects.set("apex", record(t, "apex", "eu.shop.test", "A", "192.0.2.1"))
				w.objects.set("a", record(t, "a", "a.eu.shop.test", "A", "192.0.2.1"))
				w.start()
				time.Sleep(30 * DefaultInterval)
				for _, call := range called() {
					if !strings.HasPrefix(call, "eu.shop.test: create") {
						t.Errorf("applied %s", call)
					}
				}
				if n := len(called()); n != 4 {
					t.Errorf("%d changes, want 2 records with their ownership records: %q", n, called())
				}
				w.expectNotices(map[string]int{"FailedSync": 0})
			})
		})
	}
}

// An ownership record that stayed in the parent when its name got a zone of its own isn't deleted
// in the child zone again and again (D6).
func TestOrphanInParent(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.objects.set("a", record(t, "a", "a.eu.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.stop()
		w.createZone("eu.shop.test")
		var called func() []string
		w.provider, called = w.cut(nil)
		w.objects.set("a")
		w.takeNotices()
		w.start()
		time.Sleep(30 * DefaultInterval)
		if calls := called(); len(calls) > 0 {
			t.Errorf("applied %q", calls)
		}
		w.expectQuiet()
	})
}

// Names move into a new zone of their own, and back when that zone is deleted, also while changes
// are being made.
func TestZonesComeAndGo(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		child := "eu.shop.test"
		v := w.vanishing()
		v.lacks.Store(&child)
		slow := &judging{Provider: v, takes: 20 * time.Second}
		w.provider = slow
		w.objects.set("a", record(t, "a", "a.eu.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.1"))
		w.start()
		in := func(zone string) string {
			records, _ := w.zones.All(zone) // none if the zone is deleted
			records = slices.DeleteFunc(records, isOwnershipRecord)
			return strings.Join(describeAll(records), ", ")
		}
		time.Sleep(2 * DefaultInterval)
		if got := in(zoneName); got != "a.eu.shop.test A 192.0.2.1, b.shop.test A 192.0.2.1" {
			t.Fatalf("the parent has %s", got)
		}
		w.createZone(child)
		v.lacks.Store(nil)
		w.objects.set("a", record(t, "a", "a.eu.shop.test", "A", "192.0.2.2"))
		time.Sleep(5 * DefaultInterval)
		if got := in(child); got != "a.eu.shop.test A 192.0.2.2" {
			t.Errorf("the child has %q", got)
		}
		v.lacks.Store(&child)
		w.objects.set("a", record(t, "a", "a.eu.shop.test", "A", "192.0.2.3"))
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.3"))
		time.Sleep(5 * DefaultInterval)
		if got := in(zoneName); !strings.Contains(got, "b.shop.test A 192.0.2.3") {
			t.Errorf("the parent has %s", got)
		}
		for i := range 5 {
			w.objects.set("b", record(t, "b", "b.shop.test", "A", fmt.Sprintf("192.0.2.%d", 10+i)))
			time.Sleep(13 * time.Second)
			other := []*string{nil, &child}[i%2]
			v.lacks.Store(other)
		}
		time.Sleep(5 * DefaultInterval)
		if got := in(zoneName); !strings.Contains(got, "b.shop.test A 192.0.2.14") {
			t.Errorf("the parent has %s", got)
		}
		if got := in(child); got != "a.eu.shop.test A 192.0.2.3" {
			t.Errorf("the child has %q", got)
		}
	})
}

// The metrics of a deleted zone are removed (D14).
func TestMetricsOfADeletedZone(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		registry := prometheus.NewRegistry()
		w.change = func(c *Config) { c.Metrics = NewMetrics(registry) }
		other := "other.test"
		v := w.vanishing()
		w.provider = v
		w.createZone(other)
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.other.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
			if c.Operation == inmemorytest.Records && c.Zone.Name == other {
				return errors.New("no such hosted zone")
			}
			return nil
		}})
		time.Sleep(2 * DefaultInterval)
		got := metrictest.Series(t, registry)
		if got[`signpost_dns_zone_failing{id="other.test",zone="other.test"}`] != 1 || got["external_dns_registry_endpoints_total"] != 2 {
			t.Fatalf("metrics while the zone fails: %v", got)
		}
		v.lacks.Store(&other)
		time.Sleep(2 * DefaultInterval)
		got = metrictest.Series(t, registry)
		for name, value := range got {
			if strings.Contains(name, other) {
				t.Errorf("%s is %v", name, value)
			}
		}
		if got["external_dns_registry_endpoints_total"] != 1 || got["external_dns_controller_consecutive_soft_errors"] != 0 {
			t.Errorf("%v records, %v errors in a row", got["external_dns_registry_endpoints_total"], got["external_dns_controller_consecutive_soft_errors"])
		}
	})
}

// A process that no longer leads has no metrics of held deletions (D14).
func TestMetricsAfterTheTerm(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		registry := prometheus.NewRegistry()
		w.change = func(c *Config) { c.Metrics = NewMetrics(registry) }
		w.ask(0, 100, "192.0.2.1")
		w.start()
		waitIdle()
		w.drop(0, 100)
		const held = `signpost_dns_deletions_held{id="shop.test",zone="shop.test"}`
		if got := metrictest.Series(t, registry)[held]; got != 100 {
			t.Errorf("%v deletions are held, want 100", got)
		}
		w.endTerm()
		time.Sleep(10 * DefaultInterval)
		for name, value := range metrictest.Series(t, registry) {
			if strings.Contains(name, zoneName) || strings.HasPrefix(name, "external_dns_registry_") && value != 0 {
				t.Errorf("after the term %s is %v", name, value)
			}
		}
	})
}
