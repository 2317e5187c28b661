package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercent(t *testing.T) {
	for _, test := range []struct {
		name        string
		floor, live uint64
		want        int
	}{
		{"nothing yet", 48 << 20, runtimeMinimum, 1099},
		{"small", 48 << 20, 12 << 20, 299},
		{"half", 48 << 20, 24 << 20, 100},
		{"large", 48 << 20, 100 << 20, 100},
		{"no live objects", 48 << 20, 0, 48<<20 - 1},
		{"no floor", 0, 1 << 20, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := percent(test.floor, test.live); got != test.want {
				t.Errorf("percent(%d, %d) = %d, want %d", test.floor, test.live, got, test.want)
			}
		})
	}
}

var garbage []byte

// Garbage of twice the floor is collected about twice, not once for each doubling from 4 MB.
func TestSetFloor(t *testing.T) {
	runtime.GC()
	before := debug.SetGCPercent(runtimePercent)
	defer debug.SetGCPercent(before)
	count := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		begun := m.NumGC
		for range 128 {
			garbage = make([]byte, 1<<20)
		}
		runtime.ReadMemStats(&m)
		return m.NumGC - begun
	}
	without := count()
	stop := SetFloor(64 << 20)
	with := count()
	stop()
	if with > 4 || without <= with {
		t.Errorf("%d collections with the floor, %d without, want 4 at most and fewer", with, without)
	}
	if got := debug.SetGCPercent(runtimePercent); got != runtimePercent {
		t.Errorf("after stop the percentage is %d, want the one from before, %d", got, runtimePercent)
	}
}
