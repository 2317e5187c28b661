package publisher

import (
	"fmt"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// A record is deleted only after no object has asked for it for the deletion delay, because
// resolvers would cache the negative response of a short gap (D10).
func TestDeletionDelay(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.change = func(c *Config) { c.DeletionDelay = 5 * time.Second }
		www := "www." + zoneName
		web := record(t, "web", www, "A", "192.0.2.1")
		w.objects.set("web", web)
		w.start()
		waitIdle()
		for range 20 {
			w.objects.set("web")
			time.Sleep(4 * time.Second)
			w.expectZone(www + " A 192.0.2.1")
			w.objects.set("web", web)
			time.Sleep(3 * time.Second)
			w.expectZone(www + " A 192.0.2.1")
		}
		// A replacement is made at once, also one of another type.
		w.objects.set("web", record(t, "web", www, "A", "192.0.2.2"))
		waitIdle()
		w.expectZone(www + " A 192.0.2.2")
		w.objects.set("web", record(t, "web", www, "CNAME", "elsewhere.example"))
		waitIdle()
		w.expectZone(www + " CNAME elsewhere.example")
		w.objects.set("web", record(t, "web", "new."+zoneName, "A", "192.0.2.2"))
		waitIdle()
		w.expectZone(www+" CNAME elsewhere.example", "new."+zoneName+" A 192.0.2.2")
		// Other records of the name don't wait.
		w.objects.set("both", record(t, "both", "both."+zoneName, "A", "192.0.2.3"), record(t, "both", "both."+zoneName, "AAAA", "2001:db8::3"))
		time.Sleep(5 * time.Second)
		w.expectZone("new."+zoneName+" A 192.0.2.2", "both."+zoneName+" A 192.0.2.3", "both."+zoneName+" AAAA 2001:db8::3")
	})
}

// A delayed deletion has a reason, and neither a listing nor an external change restarts its delay.
// It counts against the budget only when it is due.
func TestDelayedDeletions(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.change = func(c *Config) { c.DeletionDelay, c.Interval = 10*time.Second, 2*time.Second }
		w.ask(0, 100, "192.0.2.1")
		var c called
		w.zones.SetHooks(c.hooks(0))
		w.start()
		waitIdle()
		w.takeNotices()
		for i := range 100 {
			w.objects.set(fmt.Sprint("o", i))
		}
		time.Sleep(9 * time.Second)
		if notices := w.takeNotices(); len(notices) > 0 || len(w.zone()) != 100 {
			t.Errorf("after 9 s: %d records, notices %q", len(w.zone()), notices)
		}
		w.ask(0, 95, "192.0.2.1")
		before := len(c.times(inmemorytest.Apply))
		time.Sleep(2 * time.Second)
		w.expectSets(95)
		if n := len(c.times(inmemorytest.Apply)) - before; n != 1 {
			t.Errorf("%d batches, want one", n)
		}
	})
}

// A record set whose object is recreated before the deletion is made stays, also if the provider
// has to be queried before the name is planned again.
func TestRecreatedBeforeTheDeletion(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		var c called
		w.zones.SetHooks(c.hooks(0))
		w.provider = &judging{Provider: w.zones, ttl: 60}
		w.change = func(c *Config) { c.Limits.BatchInterval = 10 * time.Second }
		web := record(t, "web", "www."+zoneName, "A", "192.0.2.1")
		w.objects.set("web", web)
		w.start()
		time.Sleep(DefaultInterval)
		w.objects.set("other", record(t, "other", "other."+zoneName, "A", "192.0.2.2"))
		waitIdle()
		// The deletion is planned, and waits for the next batch.
		w.objects.set("web")
		time.Sleep(2 * time.Second)
		waiting := 0
		if err := w.publisher.visit(t.Context(), func() {
			waiting = w.publisher.zones.byKey[dns.ZoneKey{ID: zoneName, Name: zoneName}].names.count(planned)
		}); err != nil || waiting != 1 {
			t.Fatalf("%d names are planned, %v", waiting, err)
		}
		before := len(c.times(inmemorytest.Apply))
		w.objects.set("web", web)
		time.Sleep(2 * DefaultInterval)
		w.expectZone("other."+zoneName+" A 192.0.2.2", "www."+zoneName+" A 192.0.2.1")
		if n := len(c.times(inmemorytest.Apply)) - before; n != 0 {
			t.Errorf("%d batches were made", n)
		}
	})
}

// Without a delay, and by Once, records are deleted at once.
func TestNoDeletionDelay(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.objects.set("web")
		waitIdle()
		w.expectZone()
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		waitIdle()
		w.stop()
		w.objects.set("web")
		w.change = func(c *Config) { c.DeletionDelay = time.Hour }
		p := w.make()
		begun := time.Now()
		if _, err := p.Once(t.Context(), closedChannel(), Within(time.Hour)); err != nil || time.Since(begun) > time.Minute {
			t.Errorf("error %v, after %v", err, time.Since(begun))
		}
		w.expectZone()
	})
}
