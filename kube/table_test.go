package kube

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/testkit/metrictest"
)

// zoneOf is what the kind of these tests keeps of an object: its zone. An object
// in the zone "bad" can't be used.
type zoneOf struct{ namespace, name, zone string }

func zones() Kind[zoneOf] {
	return Kind[zoneOf]{
		Name: "zone", Lag: "zones", Form: Metadata(),
		Trim: TrimOf(func(s Scope, m *metav1.PartialObjectMetadata) (*zoneOf, []Problem) {
			if m.Labels["zone"] == "bad" {
				return nil, []Problem{{Reason: "bad"}}
			}
			return &zoneOf{m.Namespace, m.Name, m.Labels["zone"]}, nil
		}),
	}
}

func partialOf(namespace, name, zone string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{"zone": zone},
	}}
}

// fixture is a table that records what its handler was told.
type fixture struct {
	*store
	table    *Table[zoneOf]
	events   []string
	problems []objectmeta.Problem
	registry *prometheus.Registry
}

// take returns what happened since the last call.
func (f *fixture) take() []string {
	events := f.events
	f.events = nil
	return events
}

func newFixture(t *testing.T, opts ...TableOption[zoneOf]) *fixture {
	t.Helper()
	f := &fixture{registry: prometheus.NewRegistry()}
	f.table = zones().Table(append([]TableOption[zoneOf]{f.record("")}, opts...)...)
	m := newMetrics(f.registry, "local")
	f.store = storeOf(t, binding{
		report: func(p objectmeta.Problem) { f.problems = append(f.problems, p) },
		lagObserver: func(kind string) (func(int64), error) {
			return m.lagObserver(kind, func() time.Time { return time.Unix(1007, 0) })
		},
	}, f.table)
	return f
}

// share makes the feed fill this table too.
func (f *fixture) share(t *testing.T, table AnyTable) {
	t.Helper()
	if err := f.feed.add(table); err != nil {
		t.Fatal(err)
	}
}

// record makes a table note what it tells, with a prefix.
func (f *fixture) record(prefix string) TableOption[zoneOf] {
	show := func(z *zoneOf) string {
		if z == nil {
			return "-"
		}
		return z.namespace + "/" + z.name + "=" + z.zone
	}
	return WithHandler(func(old, new *zoneOf) { f.events = append(f.events, prefix+show(old)+" > "+show(new)) })
}

func (f *fixture) replace(t *testing.T, objs ...any) {
	t.Helper()
	if err := f.Replace(objs, "1"); err != nil {
		t.Fatal(err)
	}
}

func TestTableTellsEachChangeOnce(t *testing.T) {
	f := newFixture(t)
	steps := []struct {
		name string
		do   func() error
		want []string
	}{
		{"add", func() error { return f.Add(partialOf("n", "a", "x")) }, []string{"- > n/a=x"}},
		{"equal", func() error { return f.Update(partialOf("n", "a", "x")) }, nil},
		{"update", func() error { return f.Update(partialOf("n", "a", "y")) }, []string{"n/a=x > n/a=y"}},
		{"unusable", func() error { return f.Update(partialOf("n", "a", "bad")) }, nil},
		{"unusable and unknown", func() error { return f.Add(partialOf("n", "b", "bad")) }, nil},
		{"delete", func() error { return f.Delete(partialOf("n", "a", "z")) }, []string{"n/a=y > -"}},
		{"delete again", func() error { return f.Delete(partialOf("n", "a", "z")) }, nil},
		{"delete unusable", func() error { return f.Delete(partialOf("n", "b", "bad")) }, nil},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if diff := cmp.Diff(s.want, f.take()); diff != "" {
			t.Errorf("%s: handler was told (-want +got):\n%s", s.name, diff)
		}
	}
	if f.table.Len() != 0 || f.table.Get("n", "a") != nil {
		t.Error("the table is not empty")
	}
	if len(f.problems) != 2 {
		t.Errorf("got problems %v, want 2", f.problems)
	}
}

func TestTableReplaceTellsTheDifference(t *testing.T) {
	f := newFixture(t)
	f.replace(t, partialOf("n", "a", "x"), partialOf("n", "b", "x"), partialOf("n", "c", "x"), partialOf("n", "d", "x"))
	f.take()
	entry, err := f.Transformer()(partialOf("n", "e", "x")) // as a stream would deliver it
	if err != nil {
		t.Fatal(err)
	}
	f.replace(t, partialOf("n", "a", "x"), partialOf("n", "b", "y"), partialOf("n", "d", "bad"), entry)
	want := []string{"n/b=x > n/b=y", "- > n/e=x", "n/c=x > -"}
	if diff := cmp.Diff(want, f.take()); diff != "" {
		t.Errorf("handler was told (-want +got):\n%s", diff)
	}
	if got := f.table.Get("n", "d"); got == nil || got.zone != "x" {
		t.Errorf("the last good value of an unusable object is %v, want zone x", got)
	}
}

func TestTableHandlersRunInOrderAfterTheChange(t *testing.T) {
	var order []string
	var table *Table[zoneOf]
	seen := func(name string) TableOption[zoneOf] {
		return WithHandler(func(_, _ *zoneOf) {
			order = append(order, fmt.Sprint(name, table.Len(), len(table.ByIndex("zone", "x"))))
		})
	}
	f := newFixture(t, seen("first"), seen("second"), WithIndex("zone", func(z *zoneOf) []string { return []string{z.zone} }))
	table = f.table
	f.replace(t, partialOf("n", "a", "x"))
	f.replace(t)
	want := []string{"first1 1", "second1 1", "first0 0", "second0 0"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestTableLag(t *testing.T) {
	f := newFixture(t)
	at := func(seconds int64, op metav1.ManagedFieldsOperationType) *metav1.PartialObjectMetadata {
		o := partialOf("n", "a", "x")
		when := metav1.NewTime(time.Unix(seconds, 0))
		o.ManagedFields = []metav1.ManagedFieldsEntry{{Operation: metav1.ManagedFieldsOperationUpdate}, {Operation: op, Time: &when}}
		return o
	}
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	for i, step := range []struct {
		obj  *metav1.PartialObjectMetadata
		want float64
	}{
		{at(1000, update), 0}, // an add says nothing
		{at(1000, update), 0},
		{at(1004, update), 1}, // 3 s, though the value is equal
		{at(1004, update), 1},
		{at(1009, apply), 1},
		{at(1006, update), 2},
	} {
		if err := f.Update(step.obj); err != nil {
			t.Fatal(err)
		}
		if got := metrictest.Sum(t, f.registry, "zones_informer_lag_seconds_count"); got != step.want {
			t.Errorf("step %d: %v observations, want %v", i, got, step.want)
		}
	}
}

func TestTableBelongsToOneCluster(t *testing.T) {
	f := newFixture(t)
	if err := f.table.bind(tableBinding{}); err == nil {
		t.Error("the table was bound twice")
	}
}

func TestTrimOfRefusesOtherTypes(t *testing.T) {
	f := newFixture(t)
	if err := f.Add(&metav1.Status{}); err == nil {
		t.Error("an object without metadata was taken")
	}
	if err := f.Add(&wrongObject{}); err != nil {
		t.Fatal(err)
	}
	if f.table.Len() != 0 || len(f.problems) != 1 {
		t.Errorf("got %d objects and problems %v, want none and one", f.table.Len(), f.problems)
	}
}

type wrongObject struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (w *wrongObject) DeepCopyObject() runtime.Object { return w }

// TestTableModel checks random events against a plain map: the table and its
// index hold what was sent last, and what handlers were told adds up to it.
func TestTableModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		told := map[string]string{}
		tell := WithHandler(func(old, new *zoneOf) {
			switch {
			case new == nil:
				if told[old.name] != old.zone {
					rt.Fatalf("deletion of %v, which was %q", old, told[old.name])
				}
				delete(told, old.name)
			case (old == nil) != (told[new.name] == "") || old != nil && (told[new.name] != old.zone || old.zone == new.zone):
				rt.Fatalf("change of %v to %v, which was %q", old, new, told[new.name])
			default:
				told[new.name] = new.zone
			}
		})
		f := newFixture(t, tell, WithIndex("zone", func(z *zoneOf) []string { return []string{z.zone, "all"} }))
		want := map[string]string{}
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		zone := rapid.SampledFrom([]string{"x", "y", "z", "bad"})
		put := func(name, zone string) {
			if zone != "bad" {
				want[name] = zone
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"update": func(rt *rapid.T) {
				n, z := name.Draw(rt, "name"), zone.Draw(rt, "zone")
				_ = f.Update(partialOf("n", n, z))
				put(n, z)
			},
			"delete": func(rt *rapid.T) {
				n := name.Draw(rt, "name")
				_ = f.Delete(partialOf("n", n, "x"))
				delete(want, n)
			},
			"replace": func(rt *rapid.T) {
				all := rapid.MapOf(name, zone).Draw(rt, "all")
				var objs []any
				for n := range want {
					if _, ok := all[n]; !ok {
						delete(want, n)
					}
				}
				for n, z := range all {
					objs = append(objs, partialOf("n", n, z))
					put(n, z)
				}
				_ = f.Replace(objs, "")
			},
			"": func(rt *rapid.T) { compare(rt, f.table, told, want) },
		})
	})
}

func compare(rt *rapid.T, table *Table[zoneOf], told, want map[string]string) {
	if diff := cmp.Diff(want, told); diff != "" {
		rt.Fatalf("handlers were told (-want +got):\n%s", diff)
	}
	held := map[string]string{}
	for _, z := range table.List() {
		held[z.name] = z.zone
	}
	if diff := cmp.Diff(want, held); diff != "" {
		rt.Fatalf("the table holds (-want +got):\n%s", diff)
	}
	if n := len(table.ByIndex("zone", "all")); n != len(want) || table.Len() != n {
		rt.Fatalf("the index has %d objects, the table %d, want %d", n, table.Len(), len(want))
	}
	for name, zone := range want {
		found := table.ByIndex("zone", zone)
		if !slices.ContainsFunc(found, func(z *zoneOf) bool { return z.name == name }) {
			rt.Fatalf("the index has no %s under %s", name, zone)
		}
	}
}

// M2: a scope remembered a number of values, however long: a generation has a number of bytes, too,
// and long values are not remembered at all.
func TestRecentHasBytes(t *testing.T) {
	r := newInternCache[string](bounds{values: 1000, bytes: 100, length: 20})
	for i := range 1000 {
		text := fmt.Sprintf("%015d", i)
		r.add(text, text)
		bytes := 0
		for _, generation := range []map[string]string{r.young, r.old} {
			for key := range generation {
				bytes += len(key)
			}
		}
		if bytes > 200 || len(r.young)*15 != r.bytes {
			t.Fatalf("%d bytes are held, %d of them said to be young; want 200 at most", bytes, r.bytes)
		}
	}
	long := strings.Repeat("x", 21)
	if got := r.add(long, long); got != long {
		t.Errorf("add(%q) = %q", long, got)
	}
	if _, known := r.getBytes([]byte(long)); known {
		t.Error("a long value is held")
	}
}

// A scope remembers what is asked for often, and no more than two generations of the rest.
func TestRecent(t *testing.T) {
	r := newInternCache[string](bounds{values: 2, bytes: 1000, length: 100})
	r.add("often", "first")
	for i := range 100 {
		once := fmt.Sprint("once", i)
		if got := r.add(once, once); got != once {
			t.Fatalf("add(%q) = %q", once, got)
		}
		if got, known := r.get("often"); !known || got != "first" {
			t.Fatalf("what is asked for often is %q, %v", got, known)
		}
		if got := r.add("often", "second"); got != "first" {
			t.Fatalf("add replaced what was there by %q", got)
		}
		if len(r.young)+len(r.old) > 4 {
			t.Fatalf("%d values are held, want 4 at most", len(r.young)+len(r.old))
		}
	}
	if _, known := r.getBytes([]byte("once1")); known {
		t.Error("what nobody asked for is still held")
	}
}

func TestScopeSharesStrings(t *testing.T) {
	for _, s := range []Scope{{}, NewScope("local")} {
		for _, text := range []string{"", "a", "a"} {
			if got, bytes := s.Intern(text), s.InternBytes([]byte(text)); got != text || bytes != text {
				t.Errorf("%q became %q and %q", text, got, bytes)
			}
		}
	}
	s := NewScope("local")
	long := "a string that is a part of a message"
	part := s.Intern(long[:8])
	if unsafe.StringData(part) == unsafe.StringData(long) {
		t.Error("a part of a message was kept")
	}
	if unsafe.StringData(s.InternBytes([]byte(long[:8]))) != unsafe.StringData(part) {
		t.Error("equal strings don't share their memory")
	}
}
