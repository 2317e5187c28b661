package membership

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// Labels at one place in memory are equal, unless one list of labels is the beginning of the
// other. Labels at two places may be equal as well.
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
		if got := sorted(x.Relabel(thing{namespace: "ns", name: test.name, shared: test.labels})); strings.Join(got, "") != test.concerned {
			t.Errorf("labels %v of %s concern %q, want %q", test.labels, test.name, got, test.concerned)
		}
	}
	for service, want := range map[string]string{"a": "three two", "b": "three two"} {
		if got := strings.Join(members(x, service), " "); got != want {
			t.Errorf("%s selects %q, want %q", service, got, want)
		}
	}
}

// The index keeps the name of a workload in the memory of the latest one.
func TestNamesInMemory(t *testing.T) {
	x := newIndex()
	name := strings.Clone("pod")
	x.Put(thing{namespace: "ns", name: "pod"})
	x.Put(thing{namespace: "ns", name: name, version: 1})
	for kept := range x.namespaces["ns"].workloads {
		if unsafe.StringData(kept) != unsafe.StringData(name) {
			t.Error("the name is where it was with the old workload")
		}
	}
}

// Lists may be read while the index changes. The race detector would find a write to them.
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
				put := x.Put(thing{namespace: "ns", name: name, shared: shared})
				service := string("ab"[i%2])
				x.PutService(serviceOf(service, map[string]string{service: "yes"}))
				selected, moved := x.SelectedBy(key(other)), x.Put(thing{namespace: "ns", name: name, shared: shared[:1]})
				x.DeleteService(key(service))
				read(put, selected, moved, x.Delete(key(name)))
				members(x, "a")
			}
		})
	}
	running.Wait()
	if len(x.namespaces) != 0 {
		t.Error("something is left of what is gone")
	}
}
