package publisher

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// of makes the publishers of a fixture have an instance.
func (w *fixture) of(instance string) *fixture {
	w.instance = instance
	return w
}

// inZone returns a fixture over the zone of another one.
func inZone(other *fixture) *fixture {
	w := newFixture(other.t)
	w.zones, w.provider = other.zones, other.provider
	return w
}

// Of two processes with one owner ID in one zone, neither changes or deletes the other's records.
// Both publish their own, and both report the other (tenants, two processes with one owner ID).
func TestTwoInstancesOfOneOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		east := newFixture(t).of("east")
		west := inZone(east).of("west")
		for i := range 20 {
			east.objects.set(fmt.Sprint("e", i), record(t, "e", fmt.Sprintf("e%d.shop.test", i), "A", "192.0.2.1"))
			west.objects.set(fmt.Sprint("w", i), record(t, "w", fmt.Sprintf("w%d.shop.test", i), "A", "192.0.2.2"))
		}
		east.start()
		west.start()
		defer func() { east.stop(); west.stop() }()
		time.Sleep(3 * DefaultInterval)
		if n := len(east.zone()); n != 40 {
			t.Fatalf("%d records, want those of both", n)
		}
		// Of a name that both ask for, the first one keeps it.
		west.objects.set("both", record(t, "both", "e0.shop.test", "A", "192.0.2.9"))
		east.objects.set("e1")
		west.objects.set("w1")
		time.Sleep(3 * DefaultInterval)
		zone := strings.Join(east.zone(), "\n")
		if !strings.Contains(zone, "e0.shop.test A 192.0.2.1") || strings.Contains(zone, "e1.") || strings.Contains(zone, "w1.") || len(east.zone()) != 38 {
			t.Errorf("the zone has\n%s", zone)
		}
		for _, w := range []*fixture{east, west} {
			w.expectNotices(map[string]int{"OtherOwner FailedSync": 1, "another process with our owner ID": some})
			if n := testutil.ToFloat64(w.publisher.Metrics.otherInstances.WithLabelValues(zoneName, zoneName)); n != 19 {
				t.Errorf("the metric has %v records of the other process, want 19", n)
			}
			if troubles := w.publisher.Troubles(); len(troubles) != 1 || troubles[0].Field != "zone shop.test, other instance" {
				t.Errorf("the troubles are %v", troubles)
			}
		}
		if row := rowOf(t, west, "e0.shop.test"); row.State != RowConflict || !strings.Contains(row.Message, `(instance "east")`) {
			t.Errorf("the row of a name that both ask for is %+v", row)
		}
		if row := rowOf(t, west, "e2.shop.test"); row.State != RowNotOwned || !strings.Contains(row.Message, `(instance "east")`) {
			t.Errorf("the row of a name of the other one is %+v", row)
		}
		// A new process replaces east with --instance.
		east.stop()
		east.of("rebuilt").start()
		east.objects.set("e5")
		time.Sleep(3 * DefaultInterval)
		east.expectSets(38) // the new one has no right to those of the old one
		east.stop()
		east.of("east").start()
		time.Sleep(3 * DefaultInterval)
		east.expectSets(37) // with the instance of the old one they are its own
	})
}

// Ownership records without an instance, of an older version or of ExternalDNS, are ours, and nothing is
// written for the lack of one.
func TestInstanceIsNotWrittenAlone(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.stop()
		before := texts(w)
		var writes atomic.Int64
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
			writes.Add(int64(len(c.Changes)))
			return nil
		}})
		w.of("east").start()
		time.Sleep(3 * DefaultInterval)
		if writes.Load() > 0 || texts(w) != before {
			t.Errorf("%d writes for an instance, texts\n%s", writes.Load(), texts(w))
		}
		// Another target alone leaves the text, another object writes one.
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.2"))
		waitIdle()
		if texts(w) != before {
			t.Errorf("the texts are\n%s", texts(w))
		}
		w.objects.set("b", record(t, "c", "b.shop.test", "A", "192.0.2.3"))
		waitIdle()
		if got := texts(w); strings.Count(got, "external-dns/instance=east") != 1 || !strings.Contains(got, "external-dns/owner=me,external-dns/resource=service/default/c") {
			t.Errorf("the texts are\n%s", got)
		}
		w.objects.set("a")
		w.objects.set("b")
		time.Sleep(DefaultInterval)
		if all := w.listing(); len(all) > 0 {
			t.Errorf("left are %v", all)
		}
	})
}

// If the owner ID or the prefix is changed without migration, the number of records that aren't
// ours is reported, and each of their rows says so (Day2 B12).
func TestOwnerIsChanged(t *testing.T) {
	for name, test := range map[string]struct {
		options   owner.TXTOptions
		says, row string
	}{
		"owner":  {owner.TXTOptions{OwnerID: "new", Prefix: "own-"}, `3 belong to "me"`, `belongs to "me", and we are "new"`},
		"prefix": {owner.TXTOptions{OwnerID: "me", Prefix: "other-"}, "3 have no ownership record", "has no ownership record"},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.ask(0, 3, "192.0.2.1")
				w.start()
				waitIdle()
				w.stop()
				w.takeNotices()
				w.change = ownedBy(t, test.options)
				w.start()
				waitIdle()
				w.expectNotices(map[string]int{"OtherOwner": 1, "records of 3 names": some, test.says: some, "--migrate-from-txt-owner": some})
				if row := rowOf(t, w, "n1.shop.test"); row.State != RowConflict || !strings.Contains(row.Message, test.row) || !strings.Contains(row.Message, "--migrate-from-txt-owner") {
					t.Errorf("the row is %+v", row)
				}
				w.objects.set("o0")
				waitIdle()
				if troubles := w.publisher.Troubles(); len(troubles) != 1 || !strings.Contains(troubles[0].Reason, "records of 2 names") {
					t.Errorf("the troubles are %v", troubles)
				}
			})
		})
	}
}

// rowOf returns the only row of a name.
func rowOf(t *testing.T, w *fixture, name string) Row {
	t.Helper()
	page, err := w.publisher.Rows(t.Context(), RowFilter{Search: name}, 0, 10)
	if err != nil || len(page.Rows) != 1 {
		t.Fatalf("the rows of %s are %v, %v", name, page.Rows, err)
	}
	return page.Rows[0]
}

// texts returns the ownership texts.
func texts(w *fixture) string {
	var all []string
	for _, r := range w.listing() {
		if r.Type == dns.TypeTXT {
			all = append(all, line(r))
		}
	}
	return strings.Join(all, "\n")
}
