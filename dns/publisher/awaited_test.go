package publisher

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// awaiting makes a fixture read things, and nodes that the object "node" alone waits for.
func awaiting(w *fixture, things, nodes *table) {
	things.status = kube.TableStatus{Kind: "thing", Required: true}
	nodes.status = kube.TableStatus{Kind: "node", Required: true}
	w.change = func(c *Config) {
		waiting := source.NewWaiting(func(source.Key) {})
		c.Sources = []NamedSource{{Name: "service", Source: source.Source{
			Tables: []kube.AnyTable{things, nodes}, Awaited: []kube.AnyTable{nodes},
			Evaluate: func(key source.Key) source.Result {
				if key.Name == "node" {
					if err := waiting.For(key, nodes); err != nil {
						return source.Result{Err: err}
					}
				}
				return w.objects.evaluate(key)
			},
		}}}
	}
}

// Without the right to read nodes, only Services that need nodes wait. Their records, and names
// that they may share, stay (dns F12).
func TestAwaitedTable(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		things, nodes := &table{}, &table{}
		awaiting(w, things, nodes)
		things.set(kube.Synced, "")
		nodes.set(kube.Synced, "")
		w.objects.set("node", record(t, "node", "node.shop.test", "A", "192.0.2.1"), record(t, "node", "both.shop.test", "A", "192.0.2.1"))
		w.objects.set("gone", record(t, "gone", "both.shop.test", "A", "192.0.2.2"))
		w.objects.set("lb", record(t, "lb", "lb.shop.test", "A", "192.0.2.3"))
		w.start()
		waitIdle()
		before := []string{"both.shop.test A 192.0.2.1,192.0.2.2", "lb.shop.test A 192.0.2.3", "node.shop.test A 192.0.2.1"}
		w.expectZone(before...)
		w.stop()

		things, nodes = &table{}, &table{}
		awaiting(w, things, nodes)
		things.set(kube.Synced, "")
		nodes.set(kube.Waiting, kube.Forbidden)
		w.objects.set("gone")
		w.objects.set("new", record(t, "new", "new.shop.test", "A", "192.0.2.4"))
		w.takeNotices()
		w.start()
		time.Sleep(3 * DefaultInterval)
		w.expectZone("both.shop.test A 192.0.2.1,192.0.2.2", "lb.shop.test A 192.0.2.3", "new.shop.test A 192.0.2.4", "node.shop.test A 192.0.2.1")
		const want = "SourceNotRead FailedSync  source service: node can't be read: forbidden: ; records of the objects that need it stay unchanged"
		if notices := w.takeNotices(); !slices.Contains(notices, want) {
			t.Errorf("notices %q, want %q among them", notices, want)
		}
		w.objects.set("lb", record(t, "lb", "lb.shop.test", "A", "192.0.2.5"))
		w.objects.set("new")
		waitIdle()
		w.expectZone("both.shop.test A 192.0.2.1,192.0.2.2", "lb.shop.test A 192.0.2.5", "node.shop.test A 192.0.2.1")

		nodes.set(kube.Synced, "")
		w.objects.changedKey(source.Key{Namespace: "default", Name: "node"})
		waitIdle()
		w.expectZone("both.shop.test A 192.0.2.1", "lb.shop.test A 192.0.2.5", "node.shop.test A 192.0.2.1")
	})
}

// At the start awaited tables are waited for, so that the order of lists doesn't decide who gets a
// name (dns F12).
func TestAwaitedTableAtTheStart(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		things, nodes := &table{}, &table{}
		awaiting(w, things, nodes)
		things.set(kube.Synced, "")
		nodes.set(kube.Connecting, "")
		w.objects.set("node", record(t, "node", "x.shop.test", "CNAME", "a.example.org"))
		w.objects.set("other", record(t, "other", "x.shop.test", "CNAME", "b.example.org"))
		w.start()
		time.Sleep(time.Second)
		w.expectZone()
		nodes.set(kube.Synced, "")
		time.Sleep(time.Second)
		synctest.Wait()
		w.expectZone("x.shop.test CNAME a.example.org")
	})
}

// A run of Once fails only for the objects that need an unreadable table, and names them (dns F12).
func TestOnceWithoutAnAwaitedTable(t *testing.T) {
	for _, needed := range []bool{false, true} {
		withFixture(t, func(t *testing.T, w *fixture) {
			things, nodes := &table{}, &table{}
			awaiting(w, things, nodes)
			things.set(kube.Synced, "")
			nodes.set(kube.Waiting, kube.Forbidden)
			w.objects.set("lb", record(t, "lb", "lb.shop.test", "A", "192.0.2.3"))
			if needed {
				w.objects.set("node", record(t, "node", "node.shop.test", "A", "192.0.2.1"))
			}
			_, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit))
			const why = "evaluate service default/node: wait for the first list of the kind node, which can't be read: forbidden"
			if needed != (err != nil) || needed && !strings.Contains(err.Error(), why) || errors.Is(err, ErrHeld) {
				t.Errorf("needed %t: the run ends with %v", needed, err)
			}
			w.expectZone("lb.shop.test A 192.0.2.3")
		})
	}
}
