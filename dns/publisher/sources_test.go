package publisher

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// table is a table whose condition a test sets.
type table struct {
	kube.AnyTable
	mu     sync.Mutex
	filled bool
	status kube.TableStatus
	// resource is that of the objects.
	resource schema.GroupVersionResource
	// fill is called before the table is filled; it may be nil.
	fill func()
}

func (t *table) Resource() schema.GroupVersionResource { return t.resource }

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
	if t.fill != nil && state == kube.Synced {
		t.fill()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.filled = t.filled || state == kube.Synced
	t.status.State, t.status.Reason = state, reason
}

// setNamespace sets the condition of what is read of a namespace.
func (t *table) setNamespace(namespace string, state kube.State, reason kube.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := kube.NamespaceStatus{Namespace: namespace, State: state, Reason: reason, Filled: state == kube.Synced}
	all := slices.Clone(t.status.Namespaces)
	if i := slices.IndexFunc(all, func(s kube.NamespaceStatus) bool { return s.Namespace == namespace }); i >= 0 {
		of.Filled = of.Filled || all[i].Filled
		all[i] = of
	} else {
		all = append(all, of)
	}
	t.status.Namespaces = all
	t.filled = !slices.ContainsFunc(all, func(s kube.NamespaceStatus) bool { return !s.Filled })
	t.status.State = state
}

// readingNamespaces makes a fixture read its objects of some namespaces from a table.
func readingNamespaces(w *fixture, t *table, namespaces ...string) {
	reading(w, t)
	sources := w.change
	w.change = func(c *Config) {
		sources(c)
		c.Namespaces = namespaces
	}
}

// reading makes a fixture read its objects from a table.
func reading(w *fixture, t *table) {
	t.status.Kind = "thing"
	w.change = func(c *Config) {
		c.Sources = []NamedSource{{Name: "service", Source: source.Source{Tables: []kube.AnyTable{t}, Evaluate: w.objects.evaluate}}}
	}
}

// A source that is forbidden or unreachable is reported, and its records stay. When it can be read
// again, they change.
func TestUnreadableSource(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		things := &table{status: kube.TableStatus{Required: true}}
		reading(w, things)
		things.set(kube.Synced, "")
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		things.set(kube.Waiting, kube.Forbidden)
		time.Sleep(3 * statusEvery)
		w.expectZone("a.shop.test A 192.0.2.1")
		if notices := w.takeNotices(); len(notices) != 2 || notices[1] != "SourceNotRead FailedSync  source service: thing can't be read: forbidden: ; its records stay unchanged" {
			t.Errorf("notices: %q", notices)
		}
		w.stop()

		// After a restart the records of the source aren't known.
		unread := &table{status: kube.TableStatus{Required: true, State: kube.Waiting, Reason: kube.Forbidden}}
		w.objects.set("a")
		reading(w, unread)
		w.start()
		time.Sleep(3 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1")
		unread.set(kube.Synced, "")
		time.Sleep(statusEvery)
		w.expectZone()
	})
}

// The removal of a kind, which deletes its objects first, must not delete records. The deletion of
// a single object does.
func TestLostKind(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		things := &table{}
		reading(w, things)
		things.set(kube.Synced, "")
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.objects.set("a")
		waitIdle()
		trace, err := w.publisher.Trace(t.Context(), "a.shop.test")
		if err != nil || len(trace.Removals) != 1 || trace.Removals[0].Unreadable || !slices.Equal(trace.Removals[0].Names, []string{"a.shop.test"}) {
			t.Fatalf("the removal: %+v, %v", trace.Removals, err)
		}
		time.Sleep(time.Until(trace.Removals[0].At) - time.Second)
		w.expectZone("a.shop.test A 192.0.2.1", "b.shop.test A 192.0.2.1")
		time.Sleep(2 * time.Second)
		w.expectZone("b.shop.test A 192.0.2.1")

		w.objects.set("b")
		time.Sleep(time.Second)
		things.set(kube.Waiting, kube.NotFound)
		time.Sleep(3 * DefaultInterval)
		w.expectZone("b.shop.test A 192.0.2.1")
		every := func(string, source.Key) bool { return true }
		if removals, err := w.publisher.Removals(t.Context(), every); err != nil || len(removals) != 1 || !removals[0].Unreadable {
			t.Errorf("the removals are %+v, %v", removals, err)
		}
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.2"))
		things.set(kube.Synced, "")
		time.Sleep(3 * statusEvery)
		w.expectZone("b.shop.test A 192.0.2.2")
		w.objects.set("b")
		time.Sleep(3 * statusEvery)
		w.expectZone()
	})
}

// An object of an optional kind that is recreated and then can't be evaluated keeps its records.
func TestRecreatedObjectFailsToEvaluate(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		things := &table{}
		reading(w, things)
		things.set(kube.Synced, "")
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.objects.set("a")
		time.Sleep(time.Second)
		w.objects.fail("a", errTemplate)
		time.Sleep(3 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1")
		w.objects.set("a")
		time.Sleep(3 * statusEvery)
		w.expectZone()
	})
}

// While the removal of a kind hangs, the kind is readable without objects. Its records stay (day2
// B11).
func TestTerminatingKind(t *testing.T) {
	for name, start := range map[string]func(*table){
		"begins while Signpost runs": func(*table) {},
		"began before":               func(things *table) { things.set(kube.Waiting, kube.Terminating) },
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				things := &table{}
				reading(w, things)
				things.set(kube.Synced, "")
				start(things)
				w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
				w.start()
				waitIdle()
				w.expectZone("a.shop.test A 192.0.2.1")
				w.objects.set("a")
				time.Sleep(time.Second)
				things.set(kube.Waiting, kube.Terminating)
				time.Sleep(3 * DefaultInterval)
				w.expectZone("a.shop.test A 192.0.2.1")
				things.set(kube.Waiting, kube.NotFound)
				time.Sleep(3 * DefaultInterval)
				w.expectZone("a.shop.test A 192.0.2.1")
			})
		})
	}
}

// An unreadable namespace is reported. Nothing is deleted meanwhile, and records of other
// namespaces are published. Namespaces of other publishers don't matter.
func TestUnreadNamespace(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		things := &table{status: kube.TableStatus{Required: true}}
		readingNamespaces(w, things, "default", "pay")
		things.setNamespace("default", kube.Synced, "")
		things.setNamespace("pay", kube.Synced, "")
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.set("b", record(t, "b", "b.shop.test", "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1", "b.shop.test A 192.0.2.1")
		w.stop()

		unread := &table{status: kube.TableStatus{Required: true}}
		readingNamespaces(w, unread, "default", "pay")
		unread.setNamespace("default", kube.Synced, "")
		unread.setNamespace("pay", kube.Waiting, kube.Forbidden)
		unread.setNamespace("other", kube.Waiting, kube.Forbidden)
		w.objects.set("a")
		w.objects.set("c", record(t, "c", "c.shop.test", "A", "192.0.2.3"))
		w.takeNotices()
		w.start()
		time.Sleep(3 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1", "b.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.3")
		const want = "SourceNotRead FailedSync  source service: thing can't be read in the namespace pay: forbidden: ; its records stay unchanged"
		if notices := w.takeNotices(); !slices.Contains(notices, want) {
			t.Errorf("notices %q, want %q among them", notices, want)
		}
		unread.setNamespace("pay", kube.Synced, "")
		time.Sleep(2 * statusEvery)
		w.expectZone("b.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.3")
	})
}

// A kind on which objects of all namespaces depend, such as the Gateways of --gateway-namespace, is
// read in another namespace. While it is unreadable, nothing is deleted (dns F2).
func TestUnreadNamespaceOfADependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gateways := schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "gateways"}
		w := newFixture(t)
		things, edge := &table{}, &table{resource: gateways, status: kube.TableStatus{Kind: "gateway"}}
		readingNamespaces(w, things, "default")
		read := w.change
		w.change = func(c *Config) {
			read(c)
			c.NamespacesOf = map[schema.GroupResource][]string{gateways.GroupResource(): {"edge"}}
			c.Sources[0].Source.Tables = append(c.Sources[0].Source.Tables, edge)
		}
		things.setNamespace("default", kube.Synced, "")
		edge.setNamespace("edge", kube.Synced, "")
		edge.setNamespace("other", kube.Waiting, kube.Forbidden) // another publisher reads it
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.start()
		defer w.stop()
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1")

		edge.setNamespace("edge", kube.Waiting, kube.Forbidden)
		time.Sleep(2 * statusEvery)
		w.objects.set("a")
		time.Sleep(3 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1")
		edge.setNamespace("edge", kube.Synced, "")
		time.Sleep(DefaultInterval)
		w.expectZone()
	})
}

// If an optional kind is unreadable in one namespace, deleted objects of a readable namespace still
// lose their records.
func TestLostNamespace(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		things := &table{}
		readingNamespaces(w, things, "default", "pay", "team")
		for _, namespace := range []string{"default", "pay", "team"} {
			things.setNamespace(namespace, kube.Synced, "")
		}
		pay := source.Key{Namespace: "pay", Name: "p"}
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.objects.setKey(pay, record(t, "p", "p.shop.test", "A", "192.0.2.2"))
		w.start()
		waitIdle()
		things.setNamespace("team", kube.Waiting, kube.Forbidden)
		things.setNamespace("pay", kube.Waiting, kube.Forbidden)
		time.Sleep(2 * statusEvery)
		w.objects.set("a")
		w.objects.setKey(pay)
		time.Sleep(3 * DefaultInterval)
		w.expectZone("p.shop.test A 192.0.2.2")
		w.expectNotices(map[string]int{"namespace pay: forbidden:  (namespaces that can't be read either: 1)": some})
		things.setNamespace("pay", kube.Synced, "")
		time.Sleep(3 * statusEvery)
		w.expectZone()
	})
}

// Once returns an error with the namespace that it could not read.
func TestOnceWithoutANamespace(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		things := &table{status: kube.TableStatus{Required: true}}
		readingNamespaces(w, things, "default", "pay")
		things.setNamespace("default", kube.Synced, "")
		things.setNamespace("pay", kube.Waiting, kube.Forbidden)
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		_, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit))
		if err == nil || !strings.Contains(err.Error(), "source service: thing can't be read in the namespace pay: forbidden: : nothing is deleted") {
			t.Errorf("the run ends with %v", err)
		}
		w.expectZone("a.shop.test A 192.0.2.1")
	})
}
