// Package heap lets a small heap grow to some size before garbage is collected.
//
// The Go runtime collects when the heap has doubled, beginning with 4 MB. A process that
// fills its tables from an API server makes ten times as much garbage as it keeps, and
// collects dozens of times while there is little to keep. Package main of the command
// calls [SetFloor] once, before anything else; all work is done between collections.
package heap

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// runtimePercent and runtimeMinimum are the percentage that the runtime goes by and the
// heap size at which it begins.
const (
	runtimePercent = 100
	runtimeMinimum = 4 << 20
)

// SetFloor has no garbage collected as long as the heap is smaller than so many bytes. A
// larger heap doubles between collections, as it would otherwise. The floor holds until
// stop is called.
func SetFloor(bytes uint64) (stop func()) {
	before := debug.SetGCPercent(percent(bytes, runtimeMinimum))
	f := &floor{bytes: bytes}
	f.watch()
	return func() {
		f.stopped.Store(true)
		debug.SetGCPercent(before)
	}
}

// floor keeps the percentage in step with what the heap holds.
type floor struct {
	bytes   uint64
	stopped atomic.Bool
}

// watch has adjust called after the next collection, which finds the sentinel unused.
func (f *floor) watch() {
	sentinel := new(*floor)
	runtime.SetFinalizer(sentinel, func(**floor) { f.adjust() })
}

func (f *floor) adjust() {
	if f.stopped.Load() {
		return
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	debug.SetGCPercent(percent(f.bytes, sample[0].Value.Uint64()))
	f.watch()
}

// percent returns by how many percent a heap with so much to keep may grow, so that it
// reaches the floor or doubles.
func percent(floor, live uint64) int {
	live = max(live, 1)
	if floor <= 2*live {
		return runtimePercent
	}
	return int(min((floor-live)/(live/100+1), math.MaxInt32))
}
