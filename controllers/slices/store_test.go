package slices_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
	store "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kubetest.Wrap(m)) }

// us is the manager of the store's slices.
const us = "us"

// fixture is a store over a real API server. Its table is empty until follow is called.
type fixture struct {
	*testing.T
	*store.Store
	cluster  *kubetest.Cluster
	ns       string
	service  reconcile.Key
	table    *kube.Table[watched.Slice]
	registry *prometheus.Registry
	history  *history.Log
	requests *requests

	mu     sync.Mutex
	synced map[string]int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	t.Parallel()
	s := &fixture{T: t, cluster: kubetest.Start(t), registry: prometheus.NewRegistry(), synced: map[string]int{}}
	s.ns = s.cluster.Namespace(t)
	s.service = reconcile.Key{Namespace: s.ns, Name: "web"}
	return s.secondProcess()
}

// secondProcess returns another store with a table of its own, like that of another process.
func (s *fixture) secondProcess() *fixture {
	another := &fixture{
		T: s.T, cluster: s.cluster, ns: s.ns, service: s.service, registry: prometheus.NewRegistry(), synced: map[string]int{},
		history:  history.New(history.DefaultBytes, nil),
		requests: &requests{EndpointSliceInterface: s.cluster.Client.DiscoveryV1().EndpointSlices(s.ns)},
	}
	metrics := reconcile.NewMetrics(another.registry, another.registry)
	loop := reconcile.New(reconcile.Options{Name: "test", Workers: 1, RetryFirst: 1, RetryLimit: 1, RepairFirst: 1, Metrics: metrics, History: another.history, Sync: another.sync})
	another.table = watched.EndpointSlices(us).Table(
		kube.WithIndex(watched.ByService, watched.ServiceKeys),
		kube.WithHandler(func(old, now *watched.Slice) { another.Changed(old, now) }),
	)
	another.Store = store.NewStore(store.Options{
		ManagedBy: us, Client: another.requests, Table: another.table, Loop: loop,
	})
	another.inBackground(func(ctx context.Context) { loop.Run(ctx, func() []reconcile.Key { return nil }) })
	another.eventually(func() error {
		if !loop.Running() {
			return fmt.Errorf("the loop doesn't run")
		}
		return nil
	})
	return another
}

func (s *fixture) sync(_ context.Context, key reconcile.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key.Namespace == s.ns {
		s.synced[key.Name]++
	}
	return nil
}

// follow fills the table and keeps it up to date.
func (s *fixture) follow() {
	s.Helper()
	c, err := kube.New(kube.Options{Config: s.cluster.Config}, s.table)
	s.must(err)
	s.inBackground(func(ctx context.Context) { _ = c.Run(ctx) })
	<-c.Settled()
}

// inBackground runs a function until the test ends.
func (s *fixture) inBackground(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	s.Cleanup(func() {
		cancel()
		<-done
	})
}

func (s *fixture) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *fixture) eventually(condition func() error) {
	s.Helper()
	kubetest.Eventually(s, 20*time.Second, condition)
}

// slice returns a slice of the Service without a name.
func (s *fixture) slice(edits ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
	e := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.ns, GenerateName: "web-",
			Labels:          map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: us},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: "web-uid"}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
	}
	for _, edit := range edits {
		edit(e)
	}
	return e
}

func label(key, value string) func(*discoveryv1.EndpointSlice) {
	return func(e *discoveryv1.EndpointSlice) { e.Labels[key] = value }
}

func named(name string) func(*discoveryv1.EndpointSlice) {
	return func(e *discoveryv1.EndpointSlice) { e.GenerateName, e.Name = "", name }
}

// create creates a slice through the store, without an error.
func (s *fixture) create(edits ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
	s.Helper()
	e, err := s.Create(s.Context(), s.service, s.slice(edits...))
	s.must(err)
	return e
}

// createExternally creates a slice as another writer.
func (s *fixture) createExternally(edits ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
	s.Helper()
	e, err := s.cluster.Client.DiscoveryV1().EndpointSlices(s.ns).Create(s.Context(), s.slice(edits...), metav1.CreateOptions{})
	s.must(err)
	return e
}

// edit changes a slice as another writer.
func (s *fixture) edit(name string, edit func(*discoveryv1.EndpointSlice)) {
	s.Helper()
	client := s.cluster.Client.DiscoveryV1().EndpointSlices(s.ns)
	e, err := client.Get(s.Context(), name, metav1.GetOptions{})
	s.must(err)
	edit(e)
	_, err = client.Update(s.Context(), e, metav1.UpdateOptions{})
	s.must(err)
}

func (s *fixture) remove(name string) {
	s.Helper()
	s.must(s.cluster.Client.DiscoveryV1().EndpointSlices(s.ns).Delete(s.Context(), name, metav1.DeleteOptions{}))
}

// want compares the names of the slices in the store.
func (s *fixture) want(names ...string) {
	s.Helper()
	got := []string{}
	for _, e := range s.Of(s.service) {
		got = append(got, e.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(append([]string{}, names...), got); diff != "" {
		s.Errorf("slices (-want +got):\n%s", diff)
	}
}

// Two processes give a new slice the same name, so that the second one finds the slice of the first.
// Different slices have different names, also in one process.
func TestNames(t *testing.T) {
	s := newFixture(t)
	first := s.create()
	second := s.create()
	six := s.create(func(e *discoveryv1.EndpointSlice) {
		e.AddressType, e.Endpoints[0].Addresses = discoveryv1.AddressTypeIPv6, []string{"2001:db8::1"}
	})
	s.want(first.Name, second.Name, six.Name)

	other := s.secondProcess()
	there, err := other.Create(t.Context(), s.service, s.slice())
	if !apierrors.IsAlreadyExists(err) || there == nil || there.UID != first.UID {
		t.Fatalf("another process gets %v, %v, want the first slice and AlreadyExists", there, err)
	}
	other.want(first.Name)
	s.must(other.Refresh(t.Context(), s.service))
	other.want(first.Name, second.Name, six.Name)
	third := other.create()
	other.want(first.Name, second.Name, six.Name, third.Name)
}

// A name that a slice of another writer has is skipped, whether the table has that slice or not.
func TestNamesOfOtherWriters(t *testing.T) {
	for name, edit := range map[string]func(*discoveryv1.EndpointSlice){
		"other manager": label(discoveryv1.LabelManagedBy, "them"),
		"other Service": label(discoveryv1.LabelServiceName, "db"),
	} {
		for _, known := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, known %t", name, known), func(t *testing.T) {
				s := newFixture(t)
				wanted := s.create().Name
				s.remove(wanted)
				theirs := s.createExternally(named(wanted), edit)
				other := s.secondProcess()
				if known {
					other.follow()
				}
				made := other.create()
				if made.Name == theirs.Name {
					t.Errorf("the new slice has the name of the other, %s", made.Name)
				}
				other.want(made.Name)
				now, err := s.cluster.Client.DiscoveryV1().EndpointSlices(s.ns).Get(t.Context(), wanted, metav1.GetOptions{})
				if err != nil || now.ResourceVersion != theirs.ResourceVersion {
					t.Errorf("the other slice is %v, %v, want it unchanged", now, err)
				}
			})
		}
	}
}

// A slice that is being deleted keeps its name.
func TestNameOfSliceBeingDeleted(t *testing.T) {
	s := newFixture(t)
	s.follow()
	old := s.create(func(e *discoveryv1.EndpointSlice) { e.Finalizers = []string{"example.org/test"} })
	s.remove(old.Name)
	t.Cleanup(func() { s.unfinalize(old.Name) })
	s.eventually(func() error {
		if n := len(s.Of(s.service)); n != 0 {
			return fmt.Errorf("%d slices, want only that being deleted", n)
		}
		return nil
	})
	made := s.create()
	if made.Name == old.Name {
		t.Error("the new slice has the name of the old one")
	}
	s.want(made.Name)
}

func (s *fixture) unfinalize(name string) {
	_, err := s.cluster.Client.DiscoveryV1().EndpointSlices(s.ns).Patch(context.Background(), name,
		"application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		s.Error(err)
	}
}

// Delete only deletes the given version of the given UID. A missing slice is no error.
func TestDelete(t *testing.T) {
	s := newFixture(t)
	e := s.create()
	another := e.DeepCopy()
	another.UID = "another"
	outdated := e.DeepCopy()
	outdated.ResourceVersion = "1"
	for _, other := range []*discoveryv1.EndpointSlice{another, outdated} {
		if err := s.Delete(t.Context(), s.service, other); !apierrors.IsConflict(err) {
			t.Errorf("deleting another version: error %v, want a conflict", err)
		}
	}
	if _, err := s.cluster.Client.DiscoveryV1().EndpointSlices(s.ns).Get(t.Context(), e.Name, metav1.GetOptions{}); err != nil {
		t.Fatalf("another version of the slice was deleted: %v", err)
	}
	s.must(s.Delete(t.Context(), s.service, e))
	s.want()
	s.must(s.Delete(t.Context(), s.service, e))
	again := s.create()
	if again.UID == e.UID {
		t.Error("the slice is the old one")
	}
	s.want(again.Name)
}

// The update of an outdated slice is a conflict, and succeeds after a refresh.
func TestUpdateAndRefresh(t *testing.T) {
	s := newFixture(t)
	e := s.create()
	gone := s.create()
	s.edit(e.Name, label("external", "yes"))
	s.remove(gone.Name)
	theirs := s.createExternally(named("made-by-another-leader"))

	wanted := e.DeepCopy()
	wanted.Endpoints[0].Addresses[0] = "10.0.0.2"
	if _, err := s.Update(t.Context(), s.service, wanted); !reconcile.IsConflict(err) {
		t.Fatalf("update of an outdated slice: %v, want a conflict", err)
	}
	if _, err := s.Update(t.Context(), s.service, gone); !reconcile.IsConflict(err) {
		t.Fatalf("update of a deleted slice: %v, want a conflict", err)
	}
	s.must(s.Refresh(t.Context(), s.service))
	s.want(e.Name, theirs.Name)
	wanted.ResourceVersion, wanted.UID = "", ""
	made, err := s.Update(t.Context(), s.service, wanted)
	s.must(err)
	if made.Labels["external"] != "" || made.Endpoints[0].Addresses[0] != "10.0.0.2" || made.UID != e.UID {
		t.Errorf("the slice is %v, want the written one", made)
	}
	s.Forget()
	s.want()
}

// A recreated slice, such as a placeholder, keeps the finalizers and annotations of other writers. It lost
// them (controllers N6).
func TestUpdateKeepsMetadataOfOthers(t *testing.T) {
	s := newFixture(t)
	s.follow()
	e := s.create(func(e *discoveryv1.EndpointSlice) {
		e.Annotations = map[string]string{corev1.EndpointsLastChangeTriggerTime: "2026-01-02T03:04:05Z"}
	})
	s.edit(e.Name, func(e *discoveryv1.EndpointSlice) {
		e.Annotations["example.org/a"], e.Finalizers = "theirs", []string{"example.org/x"}
	})
	defer s.edit(e.Name, func(e *discoveryv1.EndpointSlice) { e.Finalizers = nil })
	s.eventually(func() error {
		if known := s.Of(s.service); len(known) != 1 || len(known[0].Finalizers) == 0 {
			return fmt.Errorf("the table lacks the edit")
		}
		return nil
	})
	placeholder := s.slice(named(e.Name), func(e *discoveryv1.EndpointSlice) { e.Endpoints = []discoveryv1.Endpoint{} })
	made, err := s.Update(t.Context(), s.service, placeholder)
	s.must(err)
	live, err := s.cluster.Client.DiscoveryV1().EndpointSlices(s.ns).Get(t.Context(), e.Name, metav1.GetOptions{})
	s.must(err)
	for what, got := range map[string]*discoveryv1.EndpointSlice{"the store": made, "the API server": live} {
		if want := map[string]string{"example.org/a": "theirs"}; !maps.Equal(got.Annotations, want) || !slices.Equal(got.Finalizers, []string{"example.org/x"}) || len(got.Endpoints) > 0 {
			t.Errorf("%s has annotations %v, finalizers %v and %d endpoints, want those of others, and no endpoint", what, got.Annotations, got.Finalizers, len(got.Endpoints))
		}
	}
}

// Another writer takes a slice over, and a listing lacks it before the watch shows it. When the slice is
// given back, it counts again.
func TestTakenOverBeforeTheWatchShowsIt(t *testing.T) {
	s := newFixture(t)
	e := s.create()
	s.edit(e.Name, label(discoveryv1.LabelManagedBy, "them"))
	s.must(s.Refresh(t.Context(), s.service))
	s.follow()
	counts := func(want int) {
		t.Helper()
		s.eventually(func() error {
			all := len(s.table.ByIndex(watched.ByService, s.service.String()))
			if own := len(s.Of(s.service)); all != 1 || own != want {
				return fmt.Errorf("the Service has %d slices, of which %d are ours, want 1 and %d", all, own, want)
			}
			return nil
		})
	}
	counts(0)
	s.edit(e.Name, label(discoveryv1.LabelManagedBy, us))
	counts(1)
}

// External changes make the store sync the Service; other changes, such as those of another manager's slices,
// don't (MI-06, MI-09).
func TestChanges(t *testing.T) {
	s := newFixture(t)
	s.follow()
	e := s.create()
	update := e.DeepCopy()
	update.Labels["own"] = "yes"
	_, err := s.Update(t.Context(), s.service, update)
	s.must(err)
	s.must(s.Delete(t.Context(), s.service, s.create()))
	s.createExternally(named("theirs"), label(discoveryv1.LabelManagedBy, "them"))
	s.edit("theirs", label("external", "yes"))
	s.remove("theirs")
	want := map[string]int{}
	s.wantSynced(want, "barrier") // the store's own writes, and those of another manager

	for _, step := range []struct {
		name   string
		do     func()
		syncs  []string
		barred string
	}{
		{"edited", func() { s.edit(e.Name, label("external", "yes")) }, []string{"web"}, "b1"},
		{"given to another Service", func() { s.edit(e.Name, label(discoveryv1.LabelServiceName, "db")) }, []string{"web", "db"}, "b2"},
		{"taken from us", func() { s.edit(e.Name, label(discoveryv1.LabelManagedBy, "them")) }, []string{"db"}, "b3"},
		{"edited as another's", func() { s.edit(e.Name, label("external", "no")) }, nil, "b4"},
		{"given back", func() { s.edit(e.Name, label(discoveryv1.LabelManagedBy, us)) }, []string{"db"}, "b5"},
		{"deleted", func() { s.remove(e.Name) }, []string{"db"}, "b6"},
	} {
		step.do()
		for _, name := range step.syncs {
			want[name]++
		}
		s.Log(step.name)
		s.wantSynced(want, step.barred)
	}
}

// External changes that remove endpoints are reverted within five seconds, other changes after up to a minute
// (day2 B4, C5).
func TestLostEndpointsAreRestoredWithinSeconds(t *testing.T) {
	changed := func(change func(*discoveryv1.EndpointSlice)) func(kube.Kind[watched.Slice], *discoveryv1.EndpointSlice) (old, now *watched.Slice) {
		return func(kind kube.Kind[watched.Slice], e *discoveryv1.EndpointSlice) (old, now *watched.Slice) {
			e.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}, {Addresses: []string{"10.0.0.2"}}}
			e.Ports = []discoveryv1.EndpointPort{{Port: new(int32(80))}}
			old, _ = kind.Trim(kube.Scope{}, e)
			e = e.DeepCopy()
			e.ResourceVersion = "2"
			change(e)
			now, _ = kind.Trim(kube.Scope{}, e)
			return old, now
		}
	}
	deleted := func(kind kube.Kind[watched.Slice], e *discoveryv1.EndpointSlice) (old, now *watched.Slice) {
		old, _ = kind.Trim(kube.Scope{}, e)
		return old, nil
	}
	for name, test := range map[string]struct {
		event func(kube.Kind[watched.Slice], *discoveryv1.EndpointSlice) (old, now *watched.Slice)
		want  int
	}{
		// At once, after 1, 3 and 7 s, and then every 5 s.
		"deleted":                  {deleted, 13},
		"given to another manager": {changed(label(discoveryv1.LabelManagedBy, "them")), 13},
		"given to another Service": {changed(label(discoveryv1.LabelServiceName, "db")), 13},
		"emptied":                  {changed(func(e *discoveryv1.EndpointSlice) { e.Endpoints = nil }), 13},
		"overwritten":              {changed(func(e *discoveryv1.EndpointSlice) { e.Endpoints[1].Addresses[0] = "10.9.9.9" }), 13},
		"made not ready":           {changed(func(e *discoveryv1.EndpointSlice) { e.Endpoints[0].Conditions.Ready = new(false) }), 13},
		"given another port":       {changed(func(e *discoveryv1.EndpointSlice) { e.Ports[0].Port = new(int32(81)) }), 13},
		// After 1, 3, 7, 15 and 31 s.
		"labelled": {changed(label("external", "yes")), 5},
		"given one more address": {changed(func(e *discoveryv1.EndpointSlice) {
			e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.9.9"}})
		}), 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kind := watched.EndpointSlices(us)
				s := &fixture{T: t, ns: "ns", table: kind.Table(kube.WithIndex(watched.ByService, watched.ServiceKeys))}
				service := reconcile.Key{Namespace: "ns", Name: "web"}
				var loop *reconcile.Loop
				changeExternally := func() {
					s.Changed(test.event(kind, s.slice(named("web-1"), func(e *discoveryv1.EndpointSlice) { e.UID, e.ResourceVersion = "1", "1" })))
				}
				counted := 0
				loop = reconcile.New(reconcile.Options{Name: "test", Workers: 1, RetryFirst: 1, RetryLimit: 1, Sync: func(_ context.Context, key reconcile.Key) error {
					if key == service {
						counted++
					}
					loop.Wrote(key, "create", time.Time{}, nil)
					changeExternally()
					return nil
				}})
				s.Store = store.NewStore(store.Options{ManagedBy: us, Table: s.table, Loop: loop})
				ctx, cancel := context.WithTimeout(t.Context(), 55*time.Second)
				defer cancel()
				go func() {
					synctest.Wait()
					changeExternally()
				}()
				loop.Run(ctx, func() []reconcile.Key { return nil })
				if counted != test.want {
					t.Errorf("%s was synced %d times, want %d", service, counted, test.want)
				}
			})
		})
	}
}

// wantSynced waits until the store has handled a change of the Service barrier, and then compares the numbers
// of syncs of the other Services.
func (s *fixture) wantSynced(want map[string]int, barrier string) {
	s.Helper()
	s.createExternally(named(barrier), label(discoveryv1.LabelServiceName, barrier))
	s.eventually(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.synced[barrier] == 0 {
			return fmt.Errorf("%s isn't synced", barrier)
		}
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.synced, barrier)
	if diff := cmp.Diff(want, maps.Clone(s.synced)); diff != "" {
		s.Errorf("syncs (-want +got):\n%s", diff)
	}
}
