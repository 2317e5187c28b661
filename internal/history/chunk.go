package history

import (
	"container/heap"
	"container/list"
)

const (
	// firstSize and chunkSize are the smallest and the largest size of a chunk's data. A chunk is only larger
	// for a single larger entry.
	firstSize, chunkSize = 64, 1024
	// seriesCost, tenantCost and chunkCost are the bytes of a struct and of the references to it. A slot of a
	// map counts six times, because a map from which keys are deleted has up to six times as many slots.
	// baseCost is the rest of a log, with its scratch space.
	seriesCost, tenantCost, chunkCost, baseCost = 96 + 6*(8+8), 96 + 6*(16+8) + 2*8, 128, 16 << 10
)

// textCost is the memory of a text, whose sizes are multiples of 16.
func textCost(text string) int { return (len(text) + 15) &^ 15 }

// series has the chunks of a key, in the order of time.
type series struct {
	key         Key
	tenant      *tenant
	first, last *chunk
	bytes       int
	hash        uint64 // of the key
}

// chunk has consecutive entries of a series, encoded.
type chunk struct {
	series *series
	next   *chunk
	data   []byte
	// first and newest are the times of the first and the newest entry, in milliseconds since 1970.
	first, newest int64
	inTenant      *list.Element
}

// tenant has the chunks of a namespace.
type tenant struct {
	name  string
	bytes int
	// chunks are the chunks of all its keys, by the time of their last entry.
	chunks list.List
	// index is the position in the heap.
	index int
}

// oldest returns the chunk whose last entry is the oldest; nil if there is none.
func (t *tenant) oldest() *chunk {
	if first := t.chunks.Front(); first != nil {
		return first.Value.(*chunk)
	}
	return nil
}

// tenantHeap has the largest namespace first.
type tenantHeap []*tenant

var _ heap.Interface = (*tenantHeap)(nil)

func (h tenantHeap) Len() int           { return len(h) }
func (h tenantHeap) Less(i, j int) bool { return h[i].bytes > h[j].bytes }

func (h tenantHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *tenantHeap) Push(x any) {
	t := x.(*tenant)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop implements heap.Interface.
func (h *tenantHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
