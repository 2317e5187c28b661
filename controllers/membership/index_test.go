package membership

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// workload is the workload type of these tests.
type workload struct {
	namespace, name string
	labels          map[string]string
	// shared are the labels if they are the same in memory as those of other workloads.
	shared  objectmeta.Labels
	version int
}

func newIndex() *Index[workload] {
	return New(func(t workload) (types.NamespacedName, objectmeta.Labels) {
		name := types.NamespacedName{Namespace: t.namespace, Name: t.name}
		if t.shared != nil {
			return name, t.shared
		}
		return name, objectmeta.NewLabels(t.labels)
	})
}

func serviceOf(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func members(x *Index[workload], service string) []string {
	_, list := x.Service(key(service))
	var names []string
	for _, t := range list {
		names = append(names, t.name)
	}
	slices.Sort(names)
	return names
}

// sorted returns a sorted copy, because the list may belong to the index.
func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// A pod finds exactly the Services that select it (PH-06).
func TestPodFindsItsServices(t *testing.T) {
	x := newIndex()
	for i := range 3 {
		x.PutService(serviceOf(fmt.Sprint("service-", i), map[string]string{"app": fmt.Sprint("test-", i)}))
	}
	for i := range 5 {
		got := x.Put(workload{namespace: "ns", name: fmt.Sprint("pod-", i), labels: map[string]string{"app": fmt.Sprint("test-", i)}})
		var want []string
		if i < 3 {
			want = []string{fmt.Sprint("service-", i)}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pod %d (-want +got):\n%s", i, diff)
		}
	}
}

// A change of labels affects the right Services; the letters are Services (PH-07, X11).
func TestChangeOfLabels(t *testing.T) {
	for _, test := range []struct{ old, now, relabelled, put string }{
		{"abc", "abc", "", "abc"},
		{"abc", "def", "abcdef", "abcdef"},
		{"abc", "", "abc", "abc"},
		{"", "abc", "abc", "abc"},
		{"abc", "bcd", "ad", "abcd"},
		{"", "", "", ""},
	} {
		change := func(replace func(*Index[workload], workload) []string) string {
			x := newIndex()
			for _, s := range strings.Split("abcdef", "") {
				x.PutService(serviceOf(s, map[string]string{s: "yes"}))
			}
			x.Put(workload{namespace: "ns", name: "pod", labels: letters(test.old)})
			return strings.Join(sorted(replace(x, workload{namespace: "ns", name: "pod", labels: letters(test.now)})), "")
		}
		if got := change((*Index[workload]).Relabel); got != test.relabelled {
			t.Errorf("Relabel from %s to %s affects %q, want %q", test.old, test.now, got, test.relabelled)
		}
		if got := change((*Index[workload]).Put); got != test.put {
			t.Errorf("Put from %s to %s affects %q, want %q", test.old, test.now, got, test.put)
		}
	}
}

func letters(of string) map[string]string {
	labels := map[string]string{}
	for _, l := range of {
		labels[string(l)] = "yes"
	}
	return labels
}

// A change of labels between those that many Services select affects all of these, and from a number of
// Services on all of the namespace.
func TestChangeOfLabelsOfManyServices(t *testing.T) {
	for _, n := range []int{fewNames + 1, mostNames, mostNames + 1} {
		x := newIndex()
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint("service-", i))
			x.PutService(serviceOf(all[i], letters("a")))
		}
		x.PutService(serviceOf("other", letters("b")))
		slices.Sort(all)
		want := append(slices.Clone(all), "other")
		slices.Sort(want)
		if n > mostNames {
			all, want = every, every
		}
		pod := func(labels string) workload { return workload{namespace: "ns", name: "pod", labels: letters(labels)} }
		if got := x.Put(pod("a")); !slices.Equal(sorted(got), all) {
			t.Errorf("%d Services: the new pod affects %d, want %d", n, len(got), len(all))
		}
		for i, replace := range []func(workload) []string{x.Put, x.Relabel, x.Relabel, x.Put} {
			if got := replace(pod(string("ba"[i%2]))); !slices.Equal(sorted(got), want) {
				t.Errorf("%d Services: change %d affects %d, want %d", n, i, len(got), len(want))
			}
		}
	}
}

// model computes the results of an index by brute force.
type model struct {
	services map[string]map[string]string
	things   map[string]workload
	// shared are the labels that workloads share.
	shared map[string]objectmeta.Labels
	// handed are lists that the index returned, and copies are their original contents.
	handed, copies [][]string
}

func newModel() *model {
	return &model{
		services: map[string]map[string]string{}, things: map[string]workload{}, shared: map[string]objectmeta.Labels{},
	}
}

// share makes a workload share its labels with other workloads with equal labels.
func (m *model) share(t workload) workload {
	text := fmt.Sprint(t.labels)
	if _, ok := m.shared[text]; !ok {
		m.shared[text] = objectmeta.NewLabels(t.labels)
	}
	t.shared = m.shared[text]
	return t
}

// keep returns a list of the index sorted, and remembers its contents to check that they don't change.
func (m *model) keep(list []string) []string {
	m.handed, m.copies = append(m.handed, list), append(m.copies, slices.Clone(list))
	return sorted(list)
}

func (m *model) selected(t workload) []string {
	var names []string
	for name, selector := range m.services {
		if selector != nil && contains(t.labels, selector) {
			names = append(names, name)
		}
	}
	return sorted(names)
}

func contains(labels, selector map[string]string) bool {
	for k, v := range selector {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// After any sequence of changes, a Service has the members that its selector selects, and each change affects
// the right Services.
func TestIndexAgainstModel(t *testing.T) {
	// Labels are few, so that workloads share them.
	labels := rapid.MapOfN(rapid.SampledFrom([]string{"app", "tier"}), rapid.SampledFrom([]string{"x", "y"}), 0, 2)
	names := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	rapid.Check(t, func(t *rapid.T) {
		x, m := newIndex(), newModel()
		version := 0
		t.Repeat(map[string]func(*rapid.T){
			"put service": func(t *rapid.T) {
				name, selector := names.Draw(t, "service"), labels.Draw(t, "selector")
				if len(selector) == 0 || rapid.Bool().Draw(t, "nil") {
					selector = nil
				}
				m.services[name] = selector
				x.PutService(serviceOf(name, selector))
			},
			"delete service": func(t *rapid.T) {
				name := names.Draw(t, "service")
				delete(m.services, name)
				x.DeleteService(key(name))
			},
			"put": func(t *rapid.T) {
				version++
				now := workload{namespace: "ns", name: names.Draw(t, "name"), labels: labels.Draw(t, "labels"), version: version}
				if rapid.Bool().Draw(t, "shared") {
					now = m.share(now)
				}
				var before []string
				if old, known := m.things[now.name]; known {
					before = m.selected(old)
				}
				m.things[now.name] = now
				after := m.selected(now)
				put, want := x.Put, either(before, after)
				if rapid.Bool().Draw(t, "only labels") {
					put = x.Relabel
					want = slices.DeleteFunc(want, func(name string) bool {
						return slices.Contains(before, name) && slices.Contains(after, name)
					})
				}
				if got := m.keep(put(now)); !slices.Equal(got, want) {
					t.Fatalf("put affects %q, want %q", got, want)
				}
			},
			"delete": func(t *rapid.T) {
				name := names.Draw(t, "name")
				var want []string
				if old, ok := m.things[name]; ok {
					want = m.selected(old)
				}
				delete(m.things, name)
				if got := m.keep(x.Delete(key(name))); !slices.Equal(got, want) {
					t.Fatalf("delete affects %q, want %q", got, want)
				}
			},
			"": func(t *rapid.T) { m.check(t, x) },
		})
		for name := range m.services {
			x.DeleteService(key(name))
		}
		for name := range m.things {
			x.Delete(key(name))
		}
		if len(x.namespaces) != 0 {
			t.Fatal("an empty namespace is kept")
		}
	})
}

// either returns the union of two lists.
func either(a, b []string) []string { return slices.Compact(sorted(slices.Concat(a, b))) }

func (m *model) check(t *rapid.T, x *Index[workload]) {
	for name, selector := range m.services {
		var want []workload
		for _, w := range m.things {
			if selector != nil && contains(w.labels, selector) {
				want = append(want, w)
			}
		}
		_, got := x.Service(key(name))
		byName := func(a, b workload) int { return strings.Compare(a.name, b.name) }
		slices.SortFunc(want, byName)
		slices.SortFunc(got, byName)
		if !slices.EqualFunc(got, want, func(a, b workload) bool { return a.name == b.name && a.version == b.version }) {
			t.Fatalf("service %s with selector %v has members %v, want %v", name, selector, got, want)
		}
	}
	for name, w := range m.things {
		if got, want := m.keep(x.SelectedBy(key(name))), m.selected(w); !slices.Equal(got, want) {
			t.Fatalf("%s is selected by %q, want %q", name, got, want)
		}
	}
	if got, want := len(x.Services()), len(selecting(m.services)); got != want {
		t.Fatalf("%d Services select something, want %d", got, want)
	}
	if !slices.EqualFunc(m.handed, m.copies, slices.Equal) {
		t.Fatal("a returned list was changed")
	}
	if ns := x.namespaces["ns"]; ns != nil {
		checkLeftovers(t, ns)
	}
}

// checkLeftovers fails if a namespace keeps removed objects.
func checkLeftovers(t *rapid.T, ns *namespace[workload]) {
	workloads := 0
	for _, g := range ns.groups {
		workloads += len(g.workloads)
		for _, w := range g.workloads[len(g.workloads):cap(g.workloads)] {
			if w.name != "" {
				t.Fatalf("a group keeps %s, which has left it", w.name)
			}
		}
	}
	if workloads != len(ns.workloads) {
		t.Fatalf("groups have %d workloads of %d", workloads, len(ns.workloads))
	}
	var filed []*group[workload]
	for _, groups := range ns.byLabel {
		filed = slices.AppendSeq(filed, groups.all())
	}
	for _, g := range filed {
		if len(g.workloads) == 0 || ns.groups[identityOf(g.labels)] != g {
			t.Fatalf("an empty group of labels %v is indexed", g.labels)
		}
	}
}

func selecting(services map[string]map[string]string) map[string]map[string]string {
	list := maps.Clone(services)
	maps.DeleteFunc(list, func(_ string, selector map[string]string) bool { return selector == nil })
	return list
}
