package history

import "container/heap"

const (
	// firstSize and chunkSize are the smallest and the largest size of a chunk's data. A chunk is only larger
	// for a single larger entry.
	firstSize, chunkSize = 64, 1024
	// seriesCost, tenantCost and chunkCost are the bytes of a struct and of the references to it. A slot of a
	// map counts six times, because a map from which keys are deleted has up to six times as many slots.
	// baseCost is the rest of a log, with its scratch space.
	seriesCost, tenantCost, chunkCost, baseCost = 96 + 6*(8+8), 64 + 6*(16+8) + 2*8, 128, 16 << 10
)

// textCost is the memory of a text, whose sizes are multiples of 16.
func textCost(text string) int { return (len(text) + 15) &^ 15 }

// series has the chunks of a key, in the order of time.
type series struct {
	key         Key
	tenant      *tenant
	first, last *chunk
	bytes       int
	// hash is the hash of the key, and next another series with the same hash.
	hash uint64
	next *series
}

// chunk has consecutive entries of a series, encoded.
type chunk struct {
	series *series
	next   *chunk
	data   []byte
	// first and newest are the times of the first and the newest entry, in milliseconds since 1970.
	first, newest   int64
	inAll, inTenant link
}

// tenant has the chunks of a namespace.
type tenant struct {
	name  string
	bytes int
	// chunks are the chunks of all its keys, by the time of their last entry.
	chunks list
	// index is the position in the heap.
	index int
}

// link is the position of a chunk in a list.
type link struct {
	chunk      *chunk
	prev, next *link
}

// list is a list of chunks.
type list struct{ first, last *link }

func (l *list) pushBack(k *link) {
	k.prev, k.next = l.last, nil
	if l.last == nil {
		l.first = k
	} else {
		l.last.next = k
	}
	l.last = k
}

func (l *list) remove(k *link) {
	if k.prev == nil {
		l.first = k.next
	} else {
		k.prev.next = k.next
	}
	if k.next == nil {
		l.last = k.prev
	} else {
		k.next.prev = k.prev
	}
	k.prev, k.next = nil, nil
}

func (l *list) moveToBack(k *link) {
	if l.last != k {
		l.remove(k)
		l.pushBack(k)
	}
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
