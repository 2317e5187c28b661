package publisher

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// table is one whose condition a test sets.
type table struct {
	kube.AnyTable
	mu     sync.Mutex
	filled bool
	status kube.TableStatus
}

func (t *table) Filled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.filled
}

func (t *table) Status() kube.TableStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

func (t *table) set(state kube.State, reason kube.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.filled = t.filled || state == kube.Synced
	t.status.State, t.status.Reason = state, reason
}

// reading has a world read its objects from a table.
func reading(w *world, t *table) {
	t.status.Kind = "thing"
	w.change = func(c *Config) {
		c.Sources = []NamedSource{{Name: "service", Source: source.Source{Tables: []kube.AnyTable{t}, Evaluate: w.objects.evaluate}}}
	}
}

// A source that is forbidden, or can't be reached, says so and takes nothing away; what it
// said before stays, and what it says later counts.
func TestUnreadableSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		things := &table{status: kube.TableStatus{Required: true}}
		reading(w, things)
		things.set(kube.Synced, "")
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.start()
		rest()
		things.set(kube.Waiting, kube.Forbidden)
		time.Sleep(3 * statusEvery)
		w.expectZone("a.shop.test A 192.0.2.1")
		if said := w.said(); len(said) != 2 || said[1] != "SourceNotRead FailedSync  source service: thing can't be read: forbidden: ; its records stay as they are" {
			t.Errorf("notices: %q", said)
		}
		w.stop()

		// After a restart nothing is known of what the source says.
		unread := &table{status: kube.TableStatus{Required: true, State: kube.Waiting, Reason: kube.Forbidden}}
		w.objects.set("a")
		reading(w, unread)
		w.start()
		defer w.stop()
		time.Sleep(3 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1")
		unread.set(kube.Synced, "")
		time.Sleep(statusEvery)
		w.expectZone()
	})
}

// When a kind is removed from the cluster, its objects are deleted just before: no record goes
// for that. An object that is deleted alone takes its records with it.
func TestLostKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		things := &table{}
		reading(w, things)
		things.set(kube.Synced, "")
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.1"))
		w.start()
		defer w.stop()
		rest()
		w.objects.set("a")
		time.Sleep(3 * statusEvery)
		w.expectZone("b.shop.test A 192.0.2.1")

		w.objects.set("b")
		time.Sleep(time.Second)
		things.set(kube.Waiting, kube.NotFound)
		time.Sleep(3 * DefaultInterval)
		w.expectZone("b.shop.test A 192.0.2.1")
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.2"))
		things.set(kube.Synced, "")
		time.Sleep(3 * statusEvery)
		w.expectZone("b.shop.test A 192.0.2.2")
		w.objects.set("b")
		time.Sleep(3 * statusEvery)
		w.expectZone()
	})
}
