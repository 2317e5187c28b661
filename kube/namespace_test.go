package kube

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/testkit/heaptest"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// A process that may read some namespaces only asks for nothing else.
func TestResourcePath(t *testing.T) {
	services := Services().spec()
	ingresses := watchSpec{kind: "ingress", resource: schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}}
	tests := map[string]struct {
		spec       watchSpec
		namespaces []string
		want       []string
	}{
		"all namespaces":  {spec: services, want: []string{"api/v1/services"}},
		"one":             {spec: services, namespaces: []string{"shop"}, want: []string{"api/v1/namespaces/shop/services"}},
		"one, of a group": {spec: ingresses, namespaces: []string{"shop"}, want: []string{"apis/networking.k8s.io/v1/namespaces/shop/ingresses"}},
		"two": {
			spec: services, namespaces: []string{"shop", "pay"},
			want: []string{"api/v1/namespaces/shop/services", "api/v1/namespaces/pay/services"},
		},
		"a kind without them": {spec: Nodes().spec(), namespaces: []string{"shop", "pay"}, want: []string{"api/v1/nodes"}},
		"all, of a group":     {spec: ingresses, want: []string{"apis/networking.k8s.io/v1/ingresses"}},
		"the same after a Retrim": {
			spec: Retrim[catalog.Node, catalog.Node](Nodes(), Nodes().Trim).spec(), namespaces: []string{"shop"}, want: []string{"api/v1/nodes"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := &feed{watchSpec: tt.spec}
			var got []string
			for _, p := range newParts(f, binding{namespaces: tt.namespaces, now: time.Now}) {
				got = append(got, strings.Join(resourcePath(f.resource, p.namespace), "/"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

// dns F2: a resource with namespaces of its own is read in these, and others as the cluster says.
func TestNamespacesOfAResource(t *testing.T) {
	c, err := New(Options{
		Config: &rest.Config{Host: "http://127.0.0.1:1"}, Namespaces: []string{"shop"},
		NamespacesOf: map[schema.GroupResource][]string{{Resource: "pods"}: {"edge", "inner"}},
	}, Services().Table(), Pods().Table())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.feeds {
		for _, p := range f.parts {
			got = append(got, strings.Join(resourcePath(f.resource, p.namespace), "/"))
		}
	}
	want := []string{"api/v1/namespaces/shop/services", "api/v1/namespaces/edge/pods", "api/v1/namespaces/inner/pods"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func (k Kind[T]) spec() watchSpec { return k.Table().spec() }

func TestNewRefusesNamespaces(t *testing.T) {
	var many []string
	for i := range MaxNamespaces + 1 {
		many = append(many, fmt.Sprint("team-", i))
	}
	for want, namespaces := range map[string][]string{
		"101 namespaces: at most 100": many,
		"a namespace is empty":        {"shop", ""},
		"shop is listed twice":        {"shop", "pay", "shop"},
	} {
		_, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Namespaces: namespaces}, Services().Table())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New says %v, want %q", err, want)
		}
	}
	of := map[schema.GroupResource][]string{{Resource: "services"}: many}
	if _, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, NamespacesOf: of}, Services().Table()); err == nil || !strings.Contains(err.Error(), "services: 101 namespaces") {
		t.Errorf("New says %v of the namespaces of a resource", err)
	}
	if _, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}, Namespaces: many[1:]}, Services().Table()); err != nil {
		t.Error(err)
	}
}

// twoNamespaces returns the stores of a table that is filled from the namespaces a and b.
func twoNamespaces(t *testing.T, table *Table[zoneOf]) (a, b *store) {
	t.Helper()
	first := storeOf(t, binding{report: func(objectmeta.Problem) {}, namespaces: []string{"a", "b"}}, table)
	return first, newStore(first.feed.parts[1])
}

// A listing of one namespace says nothing about the objects of another one, and the table is
// filled when both have been listed.
func TestListingOfOneNamespace(t *testing.T) {
	var told []string
	table := zones().Table(WithHandler(func(old, new *zoneOf) {
		if new == nil {
			told = append(told, "-"+old.namespace+"/"+old.name)
		} else {
			told = append(told, new.namespace+"/"+new.name)
		}
	}))
	a, b := twoNamespaces(t, table)
	replace := func(s *store, objs ...any) {
		if err := s.Replace(objs, "7"); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		name   string
		do     func()
		want   []string
		filled bool
	}{
		{"the first", func() { replace(a, partialOf("a", "x", "1"), partialOf("a", "y", "1")) }, []string{"a/x", "a/y"}, false},
		{"the first again", func() { replace(a, partialOf("a", "x", "1")) }, []string{"-a/y"}, false},
		{"the second", func() { replace(b, partialOf("b", "x", "1")) }, []string{"b/x"}, true},
		{"the second is empty", func() { replace(b) }, []string{"-b/x"}, true},
		{"the second is back", func() { replace(b, partialOf("b", "x", "1")) }, []string{"b/x"}, true},
		{"the first changes", func() { replace(a, partialOf("a", "x", "2")) }, []string{"a/x"}, true},
	}
	for _, step := range steps {
		told = nil
		step.do()
		if diff := cmp.Diff(step.want, told); diff != "" {
			t.Errorf("%s: handlers were told (-want +got):\n%s", step.name, diff)
		}
		if table.Filled() != step.filled {
			t.Errorf("%s: the table is filled: %v", step.name, table.Filled())
		}
	}
	if table.Len() != 2 || table.Get("a", "x") == nil || table.Get("b", "x") == nil {
		t.Errorf("the table has %v", table.List())
	}
}

// Reflectors that fill a table at the same time take turns: handlers, which have no lock, are
// told of each object once, and what they were told is what the table has.
func TestNamespacesAreFilledAtTheSameTime(t *testing.T) {
	told := map[string]int{}
	table := zones().Table(WithHandler(func(old, new *zoneOf) {
		switch {
		case old == nil:
			told[new.namespace+"/"+new.name]++
		case new == nil:
			told[old.namespace+"/"+old.name]--
		}
	}), WithIndex("zone", func(z *zoneOf) []string { return []string{z.zone} }))
	a, b := twoNamespaces(t, table)
	var filling sync.WaitGroup
	for _, s := range []*store{a, b} {
		filling.Go(func() {
			for round := range 50 {
				var all []any
				for i := range 20 {
					all = append(all, partialOf(s.part.namespace, fmt.Sprint("o", i), "x"))
				}
				for _, err := range []error{
					s.Replace(all[round%20:], fmt.Sprint(round)), s.Delete(partialOf(s.part.namespace, "o19", "x")),
					s.Update(partialOf(s.part.namespace, "o19", fmt.Sprint("zone", round))), s.Bookmark(fmt.Sprint(round)),
				} {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	filling.Wait()
	want := map[string]int{}
	for _, namespace := range []string{"a", "b"} {
		for i := range 20 {
			// The last round left those from the ninth on.
			want[fmt.Sprintf("%s/o%d", namespace, i)] = min(1, i/9)
		}
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("handlers were told (-want +got):\n%s", diff)
	}
	if table.Len() != 22 || len(table.ByIndex("zone", "x")) != 20 || !table.Filled() {
		t.Errorf("the table has %d objects, %d of them in zone x; want 22 and 20", table.Len(), len(table.ByIndex("zone", "x")))
	}
}

// What one reflector has come to is no version of a table that several fill.
func TestVersionOfSeveralNamespaces(t *testing.T) {
	table := zones().Table()
	a, b := twoNamespaces(t, table)
	for _, s := range []*store{a, b} {
		object := partialOf(s.part.namespace, "x", "1")
		object.ResourceVersion = "9"
		for _, err := range []error{s.Replace([]any{object}, "9"), s.Bookmark("10"), s.Update(object), s.Delete(object)} {
			if err != nil {
				t.Error(err)
			}
			if version := table.ResourceVersion(); version != "" {
				t.Errorf("the version is %q", version)
			}
		}
	}
}

// A table is as well as the worst of its namespaces, and says which one that is.
func TestStatusOfSeveralNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := zones().Table()
		a, b := twoNamespaces(t, table)
		of := func(s *store) *state { return s.part.state }
		check := func(name string, want TableStatus) {
			t.Helper()
			got := table.Status()
			got.LastContact, got.Stale, got.Kind, got.Required = time.Time{}, got.Stale.Truncate(time.Second), "", false
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		check("new", TableStatus{State: Connecting, Namespaces: []NamespaceStatus{{Namespace: "a", State: Connecting}, {Namespace: "b", State: Connecting}}})
		of(a).startFilling()
		if err := a.Replace([]any{partialOf("a", "x", "1")}, "1"); err != nil {
			t.Fatal(err)
		}
		check("one is filled", TableStatus{
			State: Connecting, Objects: 1,
			Namespaces: []NamespaceStatus{{Namespace: "a", State: Synced, Filled: true}, {Namespace: "b", State: Connecting}},
		})
		of(b).failed(apierrors.NewForbidden(pods, "", errors.New("no")))
		time.Sleep(2 * time.Second)
		detail := "pods is forbidden: no"
		check("the other is forbidden", TableStatus{
			State: Waiting, Reason: Forbidden, Detail: "namespace b: " + detail, Objects: 1, Stale: 2 * time.Second,
			Namespaces: []NamespaceStatus{
				{Namespace: "a", State: Synced, Filled: true},
				{Namespace: "b", State: Waiting, Reason: Forbidden, Detail: detail, Stale: 2 * time.Second},
			},
		})
		if b.feed.settled() || b.feed.failureCount() != 1 || b.feed.stale() != 2*time.Second {
			t.Errorf("settled %v, %d failures, stale for %v; want false, 1, 2s", b.feed.settled(), b.feed.failureCount(), b.feed.stale())
		}
		of(b).startFilling()
		if err := b.Replace(nil, "2"); err != nil {
			t.Fatal(err)
		}
		check("both are filled", TableStatus{
			State: Synced, Filled: true, Objects: 1,
			Namespaces: []NamespaceStatus{{Namespace: "a", State: Synced, Filled: true}, {Namespace: "b", State: Synced, Filled: true}},
		})
		if !b.feed.settled() {
			t.Error("not settled when all is filled")
		}
	})
}

// Many namespaces that can't be read don't make more requests than a few.
func TestRetriesOfManyNamespaces(t *testing.T) {
	for n, want := range map[int]time.Duration{1: retryLimit, 40: retryLimit, 100: 5 * time.Second} {
		f := &feed{parts: make([]*part, n)}
		if got := f.atMost(retryLimit); got != want {
			t.Errorf("%d namespaces are tried again after %v, want %v", n, got, want)
		}
	}
}

// readerOf lets a user read Services and Pods in a namespace, and nothing else.
const readerOf = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [services, pods], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
`

// Who has Roles in two namespaces, and no ClusterRole, reads those two. A third one that is
// forbidden costs only itself.
func TestClusterReadsNamespacesWithRoles(t *testing.T) {
	api := kubetest.Start(t)
	first, second, third := api.Namespace(t), api.Namespace(t), api.Namespace(t)
	user := "reader-of-" + first
	allow := func(namespace string) { api.Apply(t, strings.ReplaceAll(readerOf, "USER", user), namespace) }
	allow(first)
	allow(second)
	for _, namespace := range []string{first, second, third} {
		api.Apply(t, "{apiVersion: v1, kind: Service, metadata: {name: before}, spec: {ports: [{port: 80}]}}", namespace)
	}
	cfg := rest.CopyConfig(api.Config)
	cfg.Impersonate.UserName = user

	r := newRecorder()
	services, pods := Services().Table(), Pods().Table()
	c := runWith(t, Options{Config: cfg, Registerer: r.registry, Namespaces: []string{first, second}}, services, pods)
	settle(t, c)
	await(t, c, "service", Synced, "")
	if denied, err := c.Denied(t.Context()); err != nil || len(denied) > 0 {
		t.Errorf("denied: %v, %v", denied, err)
	}
	want := []string{first + "/before", second + "/before"}
	if err := differ(sorted(want), namesOf(services)); err != nil {
		t.Error(err)
	}
	if n := gauge(t, r, "service_cache_size", "cluster=local"); n != 2 {
		t.Errorf("service_cache_size is %v, want 2", n)
	}
	for _, namespace := range []string{second, first} {
		api.Apply(t, "{apiVersion: v1, kind: Service, metadata: {name: after}, spec: {ports: [{port: 80}]}}", namespace)
		want = append(want, namespace+"/after")
		kubetest.Eventually(t, 30*time.Second, func() error { return differ(sorted(want), namesOf(services)) })
	}
	if err := api.Client.CoreV1().Services(second).Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(want, func(name string) bool { return name == second+"/before" })
	kubetest.Eventually(t, 30*time.Second, func() error { return differ(sorted(want), namesOf(services)) })

	late := newRecorder()
	more := Services().Table()
	c = runWith(t, Options{Config: cfg, Registerer: late.registry, Namespaces: []string{first, third, second}}, more)
	await(t, c, "service", Waiting, Forbidden)
	kubetest.Eventually(t, 30*time.Second, func() error { return differ(sorted(want), namesOf(more)) })
	if s := status(c, "service"); s.Filled || more.Filled() || len(s.Namespaces) != 3 || s.Namespaces[1].Reason != Forbidden ||
		!strings.HasPrefix(s.Detail, "namespace "+third+": ") || !s.Namespaces[0].Filled || !s.Namespaces[2].Filled {
		t.Errorf("with a namespace that is forbidden the status is %+v", s)
	}
	select {
	case <-c.Settled():
		t.Error("the cluster settled without one of its namespaces")
	default:
	}
	denied, err := c.Denied(t.Context())
	if diff := cmp.Diff([]string{"list services in the namespace " + third, "watch services in the namespace " + third}, denied); diff != "" || err != nil {
		t.Errorf("denied (-want +got), error %v:\n%s", err, diff)
	}
	if n := gauge(t, late, "kube_table_stale_seconds", "cluster=local", "kind=service"); n <= 0 {
		t.Errorf("the table is stale for %v s", n)
	}
	allow(third)
	settle(t, c)
	await(t, c, "service", Synced, "")
	want = append(want, third+"/before")
	if err := differ(sorted(want), namesOf(more)); err != nil || !more.Filled() {
		t.Errorf("filled %v: %v", more.Filled(), err)
	}
	// Its watch opens a moment after it was filled.
	kubetest.Eventually(t, 30*time.Second, func() error {
		if n := gauge(t, late, "kube_table_stale_seconds", "cluster=local", "kind=service"); n != 0 {
			return fmt.Errorf("the table is stale for %v s when all is well", n)
		}
		return nil
	})
}

// namesOf returns the names of Services, sorted.
func namesOf(table *Table[catalog.Service]) []string {
	var names []string
	for _, s := range table.List() {
		names = append(names, s.Key.Namespace+"/"+s.Key.Name)
	}
	slices.Sort(names)
	return names
}

// Objects come and go while the API server is lost and found: of each namespace the table
// then has what there is.
func TestNamespacesSurviveAnOutage(t *testing.T) {
	api := kubetest.StartOwn(t, kubetest.Options{RestartDelay: time.Second})
	first, second := api.Namespace(t), api.Namespace(t)
	create := func(namespace, name string) {
		kubetest.Eventually(t, 60*time.Second, func() error {
			_, err := api.Client.CoreV1().Services(namespace).Create(context.Background(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		})
	}
	create(first, "a")
	create(second, "b")
	r := newRecorder()
	services := Services().Table()
	c := runWith(t, Options{Config: api.Config, Registerer: r.registry, Namespaces: []string{first, second}}, services)
	settle(t, c)
	api.Kill(kubetest.APIServer)
	await(t, c, "service", Waiting, Unreachable)
	want := []string{first + "/a", second + "/b"}
	if err := differ(sorted(want), namesOf(services)); err != nil {
		t.Errorf("during the outage: %v", err)
	}
	create(second, "c")
	want = append(want, second+"/c")
	kubetest.Eventually(t, outage.BackWithin(), func() error { return differ(sorted(want), namesOf(services)) })
	await(t, c, "service", Synced, "")
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }

// As many namespaces as are allowed are read in a moment, whether they are there or not, and
// leave nothing behind.
func TestManyNamespaces(t *testing.T) {
	api := kubetest.Start(t)
	names := []string{api.Namespace(t)}
	for len(names) < MaxNamespaces {
		names = append(names, fmt.Sprint("nowhere-", len(names)))
	}
	api.Apply(t, "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}", names[0])
	before, goroutines := heaptest.InUse(), runtime.NumGoroutine()
	services := Services().Table()
	begun := time.Now()
	c := runWith(t, Options{Config: api.Config, Registerer: newRecorder().registry, Namespaces: names},
		services, Pods().Table(), Servers().Table(), Nodes().Table())
	settle(t, c)
	t.Logf("%d namespaces of 3 kinds are in sync after %v, with %d kB and %d goroutines for each namespace and kind",
		len(names), time.Since(begun), (heaptest.InUse()-before)/1000/300, (runtime.NumGoroutine()-goroutines)/300)
	for _, s := range c.Status() {
		await(t, c, s.Kind, Synced, "")
	}
	if err := differ([]string{names[0] + "/a"}, namesOf(services)); err != nil {
		t.Error(err)
	}
}
