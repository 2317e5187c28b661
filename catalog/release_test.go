package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A snapshot is kept current while it has a user, and no longer.
func TestRelease(t *testing.T) {
	c := started(service("web"))
	first, second := c.Service(serviceKey("web")), c.Service(serviceKey("web"))
	if first != second {
		t.Fatal("two readers have two snapshots")
	}
	first.Release()
	if got := c.Service(serviceKey("web")); got != second {
		t.Error("the snapshot is another one although it has a user")
	} else {
		got.Release()
	}
	apply(c, service("web"))
	if !isClosed(second.Stale()) {
		t.Error("after one of two users released it, the snapshot didn't become stale")
	}
	third := c.Service(serviceKey("web"))
	second.Release() // stale by now: the current one must stay
	apply(c, service("web"))
	if !isClosed(third.Stale()) {
		t.Error("the release of a stale snapshot released the current one")
	}
	third.Release()
	if diff := cmp.Diff(map[string]int{"services": 1}, size(c)); diff != "" {
		t.Errorf("after the last release (-want +got):\n%s", diff)
	}
}
