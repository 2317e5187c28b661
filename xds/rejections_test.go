package xds

import (
	"fmt"
	"testing"
)

// A known rejection stays known when no further one fits, so that a client that repeats it doesn't
// fill the log.
func TestKnownRejections(t *testing.T) {
	rs := rejections{seen: map[rejection]struct{}{}}
	for n := range maxRejections {
		if !rs.isNew(rejection{name: fmt.Sprint(n)}) {
			t.Fatalf("rejection %d is known", n)
		}
	}
	for _, name := range []string{"0", "0", "1"} {
		if rs.isNew(rejection{name: name}) {
			t.Errorf("the known rejection %s is new", name)
		}
	}
	if !rs.isNew(rejection{name: "another"}) {
		t.Error("a new rejection is known")
	}
	if n := len(rs.seen); n != 1 {
		t.Errorf("%d rejections are kept, want the last one", n)
	}
}
