package membership

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// Labels with one address in memory are equal, unless one list is a prefix of the other. Labels with
// different addresses may be equal, too.
func TestLabelsInMemory(t *testing.T) {
	x := newIndex()
	for _, s := range []string{"a", "b"} {
		x.PutService(serviceOf(s, map[string]string{s: "yes"}))
	}
	long, again := objectmeta.NewLabels(letters("ab")), objectmeta.NewLabels(letters("ab"))
	for _, test := range []struct {
		name      string
		labels    objectmeta.Labels
		concerned string
	}{
		{"one", long, "ab"},
		{"two", long[:1], "a"},
		{"three", again, "ab"},
		{"one", again, ""},
		{"one", long[:1], "b"},
		{"three", long[:2], ""},
		{"two", again[:2], "b"},
		{"one", long[:0], "a"},
	} {
		if got := sorted(x.Relabel(workload{namespace: "ns", name: test.name, shared: test.labels})); strings.Join(got, "") != test.concerned {
			t.Errorf("labels %v of %s concern %q, want %q", test.labels, test.name, got, test.concerned)
		}
	}
	for service, want := range map[string]string{"a": "three two", "b": "three two"} {
		if got := strings.Join(members(x, service), " "); got != want {
			t.Errorf("%s selects %q, want %q", service, got, want)
		}
	}
}

// The index keeps the name of a workload in the memory of its latest version.
func TestNamesInMemory(t *testing.T) {
	x := newIndex()
	name := strings.Clone("pod")
	x.Put(workload{namespace: "ns", name: "pod"})
	x.Put(workload{namespace: "ns", name: name, version: 1})
	for kept := range x.namespaces["ns"].workloads {
		if unsafe.StringData(kept) != unsafe.StringData(name) {
			t.Error("the name is still in the memory of the old workload")
		}
	}
}

// Lists may be read while the index changes, because it never writes to them. The race detector would find a
// write.
func TestListsAreNotWrittenTo(t *testing.T) {
	x := newIndex()
	shared := objectmeta.NewLabels(letters("ab"))
	read := func(lists ...[]string) {
		for _, name := range slices.Concat(lists...) {
			if !strings.Contains("ab", name) {
				t.Errorf("a list has %q", name)
			}
		}
	}
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			name, other := fmt.Sprint("pod-", i), fmt.Sprint("pod-", (i+1)%4)
			for range 200 {
				put := x.Put(workload{namespace: "ns", name: name, shared: shared})
				service := string("ab"[i%2])
				x.PutService(serviceOf(service, map[string]string{service: "yes"}))
				selected, moved := x.SelectedBy(key(other)), x.Put(workload{namespace: "ns", name: name, shared: shared[:1]})
				x.DeleteService(key(service))
				read(put, selected, moved, x.Delete(key(name)))
				members(x, "a")
			}
		})
	}
	running.Wait()
	if len(x.namespaces) != 0 {
		t.Error("the index keeps removed objects")
	}
}

// The cost of a change is proportional to the number of the Services, because all namespaces wait for it.
func TestCostOfManyServices(t *testing.T) {
	const services = 4000
	x := newIndex()
	for i := range services {
		x.PutService(serviceOf(fmt.Sprint("service-", i), map[string]string{"app": "yes"}))
	}
	for i := range 10 {
		x.Put(workload{namespace: "ns", name: fmt.Sprint("other-", i), labels: map[string]string{"app": "yes", "pod": fmt.Sprint(i)}})
	}
	labels := func(version string) map[string]string { return map[string]string{"app": "yes", "version": version} }
	for _, test := range []struct {
		name   string
		change func()
	}{
		{"add a pod", func() { x.Put(workload{namespace: "ns", name: "pod", labels: labels("1")}) }},
		{"change its labels", func() { x.Put(workload{namespace: "ns", name: "pod", labels: labels("2")}) }},
		{"add as many Services", func() {
			for i := range services {
				x.PutService(serviceOf(fmt.Sprint("other-", i), map[string]string{"version": "2"}))
			}
		}},
		{"change the selectors of the Services", func() {
			for i := range services {
				x.PutService(serviceOf(fmt.Sprint("service-", i), map[string]string{"app": "yes", "pod": "1"}))
			}
		}},
		{"delete the Services", func() {
			for i := range services {
				x.DeleteService(key(fmt.Sprint("service-", i)))
			}
		}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		test.change()
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) / services; got > 5000 {
			t.Errorf("%s: allocated %d bytes for each Service, want at most 5000", test.name, got)
		}
	}
}

// A change of a workload that too many Services select, or have to be compared with, affects all
// Services of the namespace. Finding them takes a while, for which all namespaces wait.
func TestManyServicesCountAsEvery(t *testing.T) {
	x := newIndex()
	put := func(label string) []string {
		return x.Put(workload{namespace: "ns", name: "pod", labels: map[string]string{label: "yes"}})
	}
	for i := range mostNames {
		x.PutService(serviceOf(fmt.Sprint("service-", i), map[string]string{"app": "yes"}))
	}
	if got := put("app"); isEvery(got) || len(got) != mostNames {
		t.Errorf("%d names, want %d", len(got), mostNames)
	}
	x.PutService(serviceOf("one-more", map[string]string{"app": "yes"}))
	for name, change := range map[string]func() []string{
		"changed": func() []string { return put("app") },
		"relabelled": func() []string {
			put("other")
			return x.Relabel(workload{namespace: "ns", name: "pod", labels: map[string]string{"app": "yes"}})
		},
		"no longer selected": func() []string {
			put("app")
			return put("other")
		},
		"selected": func() []string {
			put("app")
			return x.SelectedBy(key("pod"))
		},
		"deleted": func() []string {
			put("app")
			return x.Delete(key("pod"))
		},
	} {
		if got := change(); !isEvery(got) {
			t.Errorf("%s: %d names, want all Services", name, len(got))
		}
	}
	put("other")
	if got := put("other"); len(got) > 0 {
		t.Errorf("%d Services are affected by a pod that none selects", len(got))
	}
	if got := len(x.ServicesIn("ns")); got != mostNames+1 {
		t.Errorf("the namespace has %d Services, want %d", got, mostNames+1)
	}
	for i := range mostCompared + 1 {
		x.PutService(serviceOf(fmt.Sprint("another-", i), map[string]string{"other-app": "yes", "some": fmt.Sprint(i)}))
	}
	if got := put("other-app"); !isEvery(got) {
		t.Errorf("%d names, want all Services, because too many have to be compared", len(got))
	}
}

// The index doesn't keep which of many Services selects which of many pods.
func TestMemoryOfManyServicesAndPods(t *testing.T) {
	const n = 1000
	x := newIndex()
	before := liveHeap()
	for i := range n {
		x.PutService(serviceOf(fmt.Sprint("service-", i), map[string]string{"app": "yes"}))
	}
	for i := range n {
		x.Put(workload{namespace: "ns", name: fmt.Sprint("pod-", i), labels: map[string]string{"app": "yes", "pod": fmt.Sprint(i)}})
	}
	after := liveHeap()
	if got := (after - before) / n; got > 5000 {
		t.Errorf("the index has %d bytes for each Service with a pod, want at most 5000", got)
	}
	if got := len(x.SelectedBy(key("pod-1"))); got != n {
		t.Errorf("%d Services select a pod, want %d", got, n)
	}
}

// liveHeap returns the bytes of the heap that are in use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
