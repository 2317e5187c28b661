package publisher

import (
	"maps"
	"slices"
	"sync"

	"github.com/signpostd/signpost/dns/source"
)

// intake collects the objects to evaluate, from any goroutine.
type intake struct {
	mu    sync.Mutex
	dirty map[int]map[source.Key]struct{} // by index of the source
	// wake has room for one value. Its receiver finds everything that was added before.
	wake chan struct{}
}

// add notes that an object of a source has to be evaluated.
func (in *intake) add(src int, key source.Key) {
	in.mu.Lock()
	keys := in.dirty[src]
	if keys == nil {
		keys = map[source.Key]struct{}{}
		in.dirty[src] = keys
	}
	keys[key] = struct{}{}
	in.mu.Unlock()
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// take removes and returns the objects of the open sources, in the order of the sources.
func (in *intake) take(open func(src int) bool) (taken []changedObject) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, src := range slices.Sorted(maps.Keys(in.dirty)) {
		if !open(src) {
			continue
		}
		for key := range in.dirty[src] {
			taken = append(taken, changedObject{src, key})
		}
		delete(in.dirty, src)
	}
	return taken
}
