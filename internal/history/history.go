// Package history keeps, for an hour and within a limit of bytes, the changes that a process sent to its
// clients and those that it wrote: endpoints that were sent to streams, record sets of zones, Endpoints and
// EndpointSlices. Packages destination, xds, dns/publisher and controllers/reconcile add an [Entry] for each
// change of content, once per change and not per stream. Package app/inspect reads them for `signpost
// history` and the page.
//
// Entries are encoded into chunks of bytes and keep no object alive. The text of an entry is made when it is
// read. Three rules bound the memory, including that of maps and lists:
//
//   - One key, which is a Service or a DNS name, has at most a sixteenth of the limit.
//   - If the limit is reached, the namespace with the most bytes loses its oldest chunk. A noisy namespace
//     therefore can't displace the history of others.
//   - Lists and texts of an entry are truncated, and the omitted items are counted.
//
// # Concurrency
//
// The methods of a [Log] may be called from any goroutine. A nil Log keeps nothing.
package history

import (
	"container/heap"
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultBytes is the default limit of a [Log].
	DefaultBytes = 32 << 20
	// MinBytes is the smallest limit, other than 0 for none.
	MinBytes = 1 << 20
	// MaxAge is how long an entry is kept. An addition removes older ones, once in sweepEvery.
	MaxAge     = time.Hour
	sweepEvery = time.Minute
	// keyShare is the share of the limit that one key may have.
	keyShare = 16
	// maxKey limits a key and its namespace in bytes, above all valid names.
	maxKey = 1024
)

// Key is a Service, or a DNS name, which has no Cluster and no Namespace.
type Key struct{ Cluster, Namespace, Name string }

// Log keeps entries. [New] creates it.
type Log struct {
	limit int
	now   func() time.Time

	mu sync.Mutex
	// bytes is the memory of all following fields.
	bytes int
	// series has the series by the hash of the key, which takes a third of the memory of a map by key. Of two
	// keys with the same hash, the log keeps the one that was added last.
	series map[uint64]*series
	seed   maphash.Seed
	// tenants has the namespaces by name, and largest has them as a heap.
	tenants map[string]*tenant
	largest tenantHeap
	// swept is when chunks of all tenants were last removed because of their age.
	swept int64
	// scratch is the buffer in which an entry is encoded first.
	scratch []byte
	// added counts the entries that were added since the start.
	added uint64
}

// New returns a log with a limit in bytes, at least [MinBytes]. With 0 bytes it returns nil, which keeps
// nothing. now is the clock; nil means time.Now.
func New(bytes int, now func() time.Time) *Log {
	if bytes <= 0 {
		return nil
	}
	if now == nil {
		now = time.Now
	}
	return &Log{limit: max(bytes, MinBytes), now: now, bytes: baseCost, series: map[uint64]*series{}, seed: maphash.MakeSeed(), tenants: map[string]*tenant{}}
}

// Add adds an entry about a key. The bytes of the key count for the namespace of its first entry. The log
// keeps a copy. An entry whose names are longer than any valid name is dropped.
func (l *Log) Add(key Key, namespace string, e *Entry) {
	if l == nil || len(key.Cluster)+len(key.Namespace)+len(key.Name)+len(namespace) > maxKey {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.At.IsZero() {
		e.At = l.now()
	}
	at := e.At.UnixMilli()
	s := l.seriesOf(key, namespace)
	c := s.last
	if c != nil {
		l.scratch = e.append(l.scratch[:0], c.first)
	}
	if c == nil || len(c.data)+len(l.scratch) > chunkSize {
		l.scratch = e.append(l.scratch[:0], at)
		c = l.newChunk(s, at)
	}
	l.grow(c, len(l.scratch))
	c.data = append(c.data, l.scratch...)
	c.newest = max(c.newest, at)
	s.tenant.chunks.MoveToBack(c.inTenant)
	for s.bytes > l.limit/keyShare && s.first != s.last {
		l.remove(s.first)
	}
	l.added++
	l.makeRoom(at)
}

// makeRoom removes old chunks, then the oldest of the largest namespace until the limit holds.
func (l *Log) makeRoom(now int64) {
	if now-l.swept >= sweepEvery.Milliseconds() {
		l.swept = now
		for _, t := range l.tenants {
			for c := t.oldest(); c != nil && c.newest < now-MaxAge.Milliseconds(); c = t.oldest() {
				l.remove(c)
			}
		}
	}
	for l.bytes > l.limit && len(l.largest) > 0 {
		l.remove(l.largest[0].oldest())
	}
}

// seriesOf returns the series of a key, and creates a missing one.
func (l *Log) seriesOf(key Key, namespace string) *series {
	s, hash := l.find(key)
	if s != nil {
		return s
	}
	for other := l.series[hash]; other != nil && other.first != nil; {
		l.remove(other.first)
	}
	t := l.tenants[namespace]
	if t == nil {
		t = &tenant{name: strings.Clone(namespace)}
		l.tenants[t.name] = t
		heap.Push(&l.largest, t)
		l.charge(nil, t, tenantCost+len(namespace))
	}
	s = &series{key: Key{strings.Clone(key.Cluster), strings.Clone(key.Namespace), strings.Clone(key.Name)}, tenant: t, hash: hash}
	l.series[hash] = s
	l.charge(s, t, seriesCost+textCost(key.Cluster)+textCost(key.Namespace)+textCost(key.Name))
	return s
}

// find returns the series of a key, nil if there is none, and the hash of the key.
func (l *Log) find(key Key) (*series, uint64) {
	hash := maphash.Comparable(l.seed, key)
	if s := l.series[hash]; s != nil && s.key == key {
		return s, hash
	}
	return nil, hash
}

// charge adds bytes to the size of a series, which may be nil, and of its tenant.
func (l *Log) charge(s *series, t *tenant, bytes int) {
	l.bytes += bytes
	t.bytes += bytes
	if s != nil {
		s.bytes += bytes
	}
	heap.Fix(&l.largest, t.index)
}

func (l *Log) newChunk(s *series, at int64) *chunk {
	c := &chunk{series: s, first: at, newest: at}
	if s.last == nil {
		s.first = c
	} else {
		s.last.next = c
	}
	s.last = c
	c.inTenant = s.tenant.chunks.PushBack(c)
	l.charge(s, s.tenant, chunkCost)
	return c
}

// grow makes room for more bytes in a chunk. It never changes bytes that a reader may have.
func (l *Log) grow(c *chunk, more int) {
	need := len(c.data) + more
	if need <= cap(c.data) {
		return
	}
	size := firstSize
	for size < need {
		size *= 2
	}
	before := cap(c.data)
	grown := make([]byte, len(c.data), size)
	copy(grown, c.data)
	c.data = grown
	l.charge(c.series, c.series.tenant, size-before)
}

// remove removes the oldest chunk of a series, and then a series or a namespace without chunks.
func (l *Log) remove(c *chunk) {
	s := c.series
	t := s.tenant
	t.chunks.Remove(c.inTenant)
	freed := chunkCost + cap(c.data)
	if s.first = c.next; s.first == nil {
		delete(l.series, s.hash)
		freed = s.bytes
	}
	l.charge(s, t, -freed)
	if t.chunks.Len() == 0 {
		l.bytes -= t.bytes
		delete(l.tenants, t.name)
		heap.Remove(&l.largest, t.index)
	}
}

// Now returns the time of the clock of the log.
func (l *Log) Now() time.Time { return l.now() }

// Added returns the number of entries that were added since the start, including removed ones.
func (l *Log) Added() uint64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.added
}

// Size returns the bytes that the log uses, and its limit.
func (l *Log) Size() (bytes, limit int) {
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes, l.limit
}

// Scope selects keys.
type Scope struct {
	// Key is one key; nil means all.
	Key *Key
	// Names adds all DNS names to the key.
	Names bool
}

// Walk calls visit with the entries of some keys that are newer than since, or in the same chunk as such an
// entry. The entries of a key are consecutive, the oldest first.
func (l *Log) Walk(of Scope, since time.Time, visit func(Key, Entry)) {
	for _, v := range l.views(of, since.UnixMilli()) {
		rest := v.data
		for len(rest) > 0 {
			var e Entry
			if rest = e.read(rest, v.first); rest == nil {
				break
			}
			visit(v.key, e)
		}
	}
}

// view is the state of a chunk at the start of a read.
type view struct {
	key   Key
	first int64
	data  []byte
}

func (l *Log) views(of Scope, since int64) (views []view) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	add := func(s *series) {
		for c := s.first; c != nil; c = c.next {
			if c.newest >= since {
				views = append(views, view{s.key, c.first, c.data[:len(c.data):len(c.data)]})
			}
		}
	}
	if of.Key != nil && !of.Names {
		if s, _ := l.find(*of.Key); s != nil {
			add(s)
		}
		return views
	}
	for _, s := range l.series {
		if of.Key == nil || s.key == *of.Key || s.key.Namespace == "" {
			add(s)
		}
	}
	return views
}
