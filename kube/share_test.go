package kube

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

// everyZone is zones without objects that can't be used. It counts how often it trims.
func everyZone(trims *int) Kind[zoneOf] {
	return Retrim(zones(), TrimOf(func(_ Scope, m metav1.Object) (*zoneOf, []Problem) {
		*trims++
		return &zoneOf{m.GetNamespace(), m.GetName(), m.GetLabels()["zone"]}, nil
	}))
}

func TestTablesShareAFeed(t *testing.T) {
	f := newFixture(t)
	trims := 0
	second := everyZone(&trims).Table(f.record("2: "))
	f.share(t, second)
	streamed := func(objs ...any) error {
		for i, obj := range objs {
			e, err := f.Transformer()(obj)
			if err != nil {
				return err
			}
			objs[i] = e
		}
		return f.Replace(objs, "1")
	}
	for _, s := range []struct {
		name  string
		do    func() error
		want  []string
		trims int
	}{
		{
			"stream", func() error {
				return streamed(partialOf("n", "a", "x"), partialOf("n", "b", "x"), partialOf("n", "c", "bad"))
			},
			[]string{"- > n/a=x", "- > n/b=x", "2: - > n/a=x", "2: - > n/b=x", "2: - > n/c=bad"},
			3,
		},
		{"add", func() error { return f.Add(partialOf("n", "d", "x")) }, []string{"- > n/d=x", "2: - > n/d=x"}, 4},
		{"unusable for one", func() error { return f.Update(partialOf("n", "d", "bad")) }, []string{"2: n/d=x > n/d=bad"}, 5},
		{"usable again", func() error { return f.Update(partialOf("n", "d", "x")) }, []string{"2: n/d=bad > n/d=x"}, 6},
		{"delete", func() error { return f.Delete(partialOf("n", "a", "x")) }, []string{"n/a=x > -", "2: n/a=x > -"}, 6},
		{
			"listing without b and c", func() error { return f.Replace([]any{partialOf("n", "d", "y")}, "2") },
			[]string{"n/d=x > n/d=y", "n/b=x > -", "2: n/d=x > n/d=y", "2: n/b=x > -", "2: n/c=bad > -"},
			7,
		},
	} {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		got := f.take()
		if s.name == "listing without b and c" { // deletions come in no order
			slices.Sort(got[3:])
		}
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("%s: handlers were told (-want +got):\n%s", s.name, diff)
		}
		if trims != s.trims {
			t.Errorf("%s: the second table has trimmed %d times, want %d", s.name, trims, s.trims)
		}
	}
	if f.table.Len() != 1 || second.Len() != 1 || f.feed.len() != 1 {
		t.Errorf("the tables hold %d and %d objects, the feed says %d; want 1", f.table.Len(), second.Len(), f.feed.len())
	}
}

func TestSharedFeedObservesLagOnce(t *testing.T) {
	f := newFixture(t)
	f.share(t, everyZone(new(int)).Table())
	for _, at := range []int64{1000, 1004} {
		o := partialOf("n", "a", "x")
		when := metav1.NewTime(time.Unix(at, 0))
		o.ManagedFields = []metav1.ManagedFieldsEntry{{Operation: metav1.ManagedFieldsOperationUpdate, Time: &when}}
		if err := f.Update(o); err != nil {
			t.Fatal(err)
		}
	}
	if n := metrictest.Sum(t, f.registry, "zones_informer_lag_seconds_count"); n != 1 {
		t.Errorf("%v observations, want 1", n)
	}
}

func TestNewJoinsTables(t *testing.T) {
	partial, optional := Pods(), Nodes()
	partial.Form, optional.Optional = Metadata(), true
	for _, c := range []struct {
		name     string
		tables   []AnyTable
		accept   string
		required bool
	}{
		{"metadata and whole", []AnyTable{partial.Table(), Pods().Table()}, protobufType, true},
		{"whole and metadata", []AnyTable{Pods().Table(), partial.Table()}, protobufType, true},
		{"twice whole", []AnyTable{Pods().Table(), FullObject[corev1.Pod](Pods()).Table()}, protobufType, true},
		{"twice metadata", []AnyTable{Nodes().Table(), Nodes().Table()}, protobufType + asObject, true},
		{"optional and required", []AnyTable{optional.Table(), Nodes().Table()}, protobufType + asObject, true},
		{"twice optional", []AnyTable{Servers().Table(), Servers().Table()}, jsonType, false},
	} {
		cluster, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}}, c.tables...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		status := cluster.Status()
		if len(status) != 1 || status[0].Required != c.required || cluster.feeds[0].parts[0].source.form.acceptWatch != c.accept {
			t.Errorf("%s: status is %+v, asking for %s; want one, required %v, asking for %s",
				c.name, status, cluster.feeds[0].parts[0].source.form.acceptWatch, c.required, c.accept)
		}
	}
}

func TestResourceVersion(t *testing.T) {
	var atHandler []string
	var table *Table[zoneOf]
	f := newFixture(t, WithHandler(func(_, _ *zoneOf) {
		atHandler = append(atHandler, fmt.Sprint(table.ResourceVersion(), " of ", table.Len()))
	}))
	table = f.table
	second := everyZone(new(int)).Table()
	f.share(t, second)
	at := func(zone, version string) *metav1.PartialObjectMetadata {
		o := partialOf("n", "a", zone)
		o.ResourceVersion = version
		return o
	}
	var streamed any
	for _, s := range []struct {
		name string
		do   func() error
		want string
		told []string
	}{
		{"streaming", func() (err error) { streamed, err = f.Transformer()(at("x", "3")); return err }, "", nil},
		{"streamed", func() error { return f.Replace([]any{streamed, partialOf("n", "b", "x")}, "5") }, "5", []string{"5 of 2", "5 of 2"}},
		{"update", func() error { return f.Update(at("y", "6")) }, "6", []string{"6 of 2"}},
		{"equal", func() error { return f.Update(at("y", "7")) }, "7", nil},
		{"unusable", func() error { return f.Update(at("bad", "8")) }, "8", nil},
		{"bookmark", func() error { return f.Bookmark("12") }, "12", nil},
		{"deletion", func() error { return f.Delete(at("y", "13")) }, "13", []string{"13 of 1"}},
		{"deletion of the unknown", func() error { return f.Delete(at("y", "14")) }, "14", nil},
		{"listing", func() error { return f.Replace([]any{at("z", "15")}, "16") }, "16", []string{"16 of 1", "16 of 1"}},
	} {
		if err := s.do(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if got := table.ResourceVersion(); got != s.want || second.ResourceVersion() != got {
			t.Errorf("%s: versions are %q and %q, want %q", s.name, got, second.ResourceVersion(), s.want)
		}
		if diff := cmp.Diff(s.told, atHandler); diff != "" {
			t.Errorf("%s: handlers found (-want +got):\n%s", s.name, diff)
		}
		atHandler = nil
	}
}

// With a real API server, two tables of each resource fill from one watch, whole objects
// come without managed fields, and whatever was written is in a table of that version.
func TestClusterSharesWatches(t *testing.T) {
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	r := newRecorder()
	told := make(chan *corev1.Service, 100)
	services := FullObject[corev1.Service](Services()).Table(WithHandler(func(_, new *corev1.Service) {
		if new != nil && new.Namespace == namespace {
			told <- new
		}
	}))
	wholeNodes := Nodes()
	wholeNodes.Form = Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.NodeList{} })
	nodes := FullObject[corev1.Node](wholeNodes).Table()
	tables := CatalogTables(r, FromEndpointSlices)
	c := run(t, api.Config, r, append(tables, services, nodes)...)
	settle(t, c)
	if n := len(c.Status()); n != len(tables) {
		t.Errorf("there are %d feeds, want %d", n, len(tables))
	}
	if services.ResourceVersion() == "" || nodes.ResourceVersion() == "" {
		t.Error("a table of a settled cluster has no version")
	}
	client := api.Client.CoreV1().Services(namespace)
	svc, err := client.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		svc.Labels = map[string]string{"step": fmt.Sprint(i)}
		if svc, err = client.Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitVersion(t, services, svc.ResourceVersion)
		if got := services.Get(namespace, "web"); got.Labels["step"] != svc.Labels["step"] || got.ManagedFields != nil {
			t.Fatalf("the table of version %s holds %+v, want step %d", services.ResourceVersion(), got, i)
		}
		for got := range told {
			if got.ResourceVersion == svc.ResourceVersion {
				break
			}
		}
	}
	if err := client.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, 30*time.Second, func() error {
		if got := services.Get(namespace, "web"); got != nil || len(r.names(namespace)) != 0 {
			return fmt.Errorf("the deletion has not come to both tables: %v and %v", got, r.names(namespace))
		}
		return nil
	})
}

// awaitVersion waits until a table has come to a version.
func awaitVersion[T any](t *testing.T, table *Table[T], version string) {
	t.Helper()
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	kubetest.Eventually(t, 30*time.Second, func() error {
		if got := table.ResourceVersion(); number(got) < number(version) {
			return fmt.Errorf("the table has come to version %s, want %s", got, version)
		}
		return nil
	})
}
