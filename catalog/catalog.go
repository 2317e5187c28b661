package catalog

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math"
	"sync"
	"time"
)

// A change is applied at once if the last step was at least quietDelay ago. Otherwise changes are debounced:
// they are applied as one step after quietDelay without a change, but no later than after maxDelay.
const (
	quietDelay = 3 * time.Millisecond
	maxDelay   = 50 * time.Millisecond
)

// A reader that computes a snapshot lets waiting steps pass each time it has checked checksAtOnce requirements.
// After prepareTime it computes the snapshot at once, so that a Service whose workloads change without end has
// endpoints too.
const prepareTime = 30 * time.Second

// Options are the settings of a [Catalog].
type Options struct {
	// DefaultOpaquePorts apply to workloads without the opaque-ports annotation.
	DefaultOpaquePorts PortSet
	// Log receives one debug line per step; nil for none.
	Log *slog.Logger
}

// Catalog holds the current state of all clusters. Make it with [New].
type Catalog struct {
	options Options

	inbox  inbox
	synced chan struct{}
	// checksAtOnce is the constant; tests change it.
	checksAtOnce int

	mu    sync.RWMutex // guards state, which only step changes
	state *state

	// snapshots has the snapshots that are in use and not stale. It has its own lock, so that a reader does
	// not wait while another reader computes the snapshot of a different Service.
	snapshotsMu sync.Mutex
	snapshots   map[ServiceKey]*Snapshot
}

// New returns an empty catalog. Its Synced channel closes after MarkSynced, while Run runs.
func New(o Options) *Catalog {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Catalog{
		options:   o,
		inbox:     inbox{batch: newBatch(), poke: make(chan struct{}, 1)},
		synced:    make(chan struct{}),
		state:     newState(),
		snapshots: map[ServiceKey]*Snapshot{},

		checksAtOnce: checksAtOnce,
	}
}

// inbox collects changes until the next step. If an object changes several times, the last change wins.
type inbox struct {
	mu sync.Mutex
	batch
	synced bool
	poke   chan struct{} // holds a token while changes are pending
}

// batch has the changes of one step. Objects of a replaced cluster that are not among the changes are
// deleted.
type batch struct {
	replaced map[string]struct{}
	changes  map[ID]Object
}

func newBatch() batch {
	return batch{replaced: map[string]struct{}{}, changes: map[ID]Object{}}
}

func (b *inbox) put(edit func()) {
	b.mu.Lock()
	edit()
	b.mu.Unlock()
	select {
	case b.poke <- struct{}{}:
	default:
	}
}

func (b *inbox) take() (taken batch, synced bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken, b.batch = b.batch, newBatch()
	return taken, b.synced
}

// Put makes v the current version of its object. It never waits for a step.
func (c *Catalog) Put(v Object) {
	c.inbox.put(func() { c.inbox.changes[v.ID()] = v })
}

// Delete removes an object. It never waits for a step.
func (c *Catalog) Delete(id ID) {
	c.inbox.put(func() { c.inbox.changes[id] = nil })
}

// Replace makes these objects the only ones of a cluster, in one step. If the Cluster itself is not among
// them, the cluster is removed: readers see that in one step, although its objects are deleted in several.
// Replace never waits for a step.
func (c *Catalog) Replace(cluster string, objects []Object) {
	c.inbox.put(func() {
		maps.DeleteFunc(c.inbox.changes, func(id ID, _ Object) bool { return id.Cluster == cluster })
		c.inbox.replaced[cluster] = struct{}{}
		for _, v := range objects {
			c.inbox.changes[v.ID()] = v
		}
	})
}

// MarkSynced tells the catalog that all objects of the local cluster have been put. After the next step, an
// object that the catalog does not have does not exist.
func (c *Catalog) MarkSynced() {
	c.inbox.put(func() { c.inbox.synced = true })
}

// Synced returns a channel that closes when everything that was put before MarkSynced has been applied.
// Before that, snapshots may be incomplete and must not be served.
func (c *Catalog) Synced() <-chan struct{} { return c.synced }

// Run applies changes until the context ends. It must run exactly once.
func (c *Catalog) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.inbox.poke:
		}
		if time.Since(last) < quietDelay && !c.holdOff(ctx, timer) {
			return nil
		}
		c.step()
		last = time.Now()
	}
}

// holdOff returns after quietDelay without a change, or after maxDelay. It returns false if the context ends.
func (c *Catalog) holdOff(ctx context.Context, timer *time.Timer) bool {
	for end := time.Now().Add(maxDelay); time.Now().Before(end); {
		timer.Reset(quietDelay)
		select {
		case <-ctx.Done():
			return false
		case <-c.inbox.poke:
		case <-timer.C:
			return true
		}
	}
	return true
}

// step applies all pending changes as one, and closes the Stale channels of what changed.
func (c *Catalog) step() {
	batch, synced := c.inbox.take()
	begun := time.Now()
	checks := c.checksAtOnce
	if !c.isSynced() {
		checks = math.MaxInt // Synced promises that everything has been applied
	}
	c.mu.Lock()
	c.state.applyAll(batch, checks)
	services := len(c.state.dirty)
	// The channels close under the lock, so that no reader sees the new state before the old snapshots are
	// stale. The channels of nodes close first, so that a stream that wakes for a new snapshot already sees
	// that its node has moved to another zone.
	for _, n := range c.state.moved {
		close(n.stale)
	}
	c.state.moved = nil
	stale, watches := c.dropStale(), c.state.dependencies.takeStale()
	for _, s := range stale {
		close(s.stale)
	}
	for _, w := range watches {
		close(w.stale)
	}
	more := len(c.state.forgotten) > 0 || len(c.state.waiting.namespaces) > 0
	c.mu.Unlock()
	if more {
		c.inbox.put(func() {})
	}
	if synced && !c.isSynced() {
		close(c.synced)
	}
	if ctx := context.Background(); c.options.Log.Enabled(ctx, slog.LevelDebug) {
		c.options.Log.LogAttrs(ctx, slog.LevelDebug, "Objects are applied", slog.Int("changes", len(batch.changes)), slog.Int("services", services),
			slog.Int("staleServices", len(stale)), slog.Int("staleWatches", len(watches)), slog.Duration("took", time.Since(begun)))
	}
}

func (c *Catalog) isSynced() bool {
	select {
	case <-c.synced:
		return true
	default:
		return false
	}
}

func (c *Catalog) dropStale() []*Snapshot {
	c.snapshotsMu.Lock()
	defer c.snapshotsMu.Unlock()
	var stale []*Snapshot
	for key := range c.state.dirty {
		if s := c.snapshots[key]; s != nil {
			stale = append(stale, s)
			delete(c.snapshots, key)
		}
	}
	clear(c.state.dirty)
	return stale
}

// Service returns the current Snapshot of a Service, never nil. If the Service does not exist, the field
// Service is nil. Snapshots are cached until they are stale. The caller calls Release in any case.
func (c *Catalog) Service(key ServiceKey) *Snapshot {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s := c.cached(key); s != nil {
		return s
	}
	for begun := time.Now(); !c.state.prepare(key, c.checksAtOnce) && time.Since(begun) < prepareTime; {
		c.mu.RUnlock()
		c.mu.RLock() // a step that waits goes first
		if s := c.cached(key); s != nil {
			return s
		}
	}
	s := c.state.snapshot(key, &c.options)
	s.catalog = c
	c.snapshotsMu.Lock()
	defer c.snapshotsMu.Unlock()
	// Another reader may have stored one meanwhile; all must use the same value.
	if other := c.snapshots[key]; other != nil {
		s = other
	}
	c.snapshots[key] = s
	s.users++
	return s
}

func (c *Catalog) cached(key ServiceKey) *Snapshot {
	c.snapshotsMu.Lock()
	defer c.snapshotsMu.Unlock()
	s := c.snapshots[key]
	if s != nil {
		s.users++
	}
	return s
}

// Release ends the use of the snapshot. It is called once for each call that returned the snapshot. The
// channel of an unused snapshot may never close.
func (s *Snapshot) Release() {
	s.catalog.snapshotsMu.Lock()
	defer s.catalog.snapshotsMu.Unlock()
	s.users--
	if s.users == 0 && s.catalog.snapshots[s.Key] == s {
		delete(s.catalog.snapshots, s.Key)
	}
}

// FindService looks up a Service. Unlike [Catalog.Service], it caches nothing.
func (c *Catalog) FindService(key ServiceKey) (*Service, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s, ok := c.state.services[key]
	return s, ok
}

// Cluster returns the linked cluster of this name, or nil.
func (c *Catalog) Cluster(name string) *Cluster {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.clusters[name]
}

// Node returns the state of a node, never nil. The Zone of an unknown node is empty.
func (c *Catalog) Node(cluster, name string) *NodeState {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if n := c.state.nodes[nodeKey{cluster, name}]; n != nil {
		return n
	}
	return c.state.unknownNode
}

// NodeState is the immutable state of a node.
type NodeState struct {
	// Zone is empty if the node or its zone is unknown.
	Zone string

	region string
	stale  chan struct{}
}

func newNodeState(zone, region string) *NodeState {
	return &NodeState{Zone: zone, region: region, stale: make(chan struct{})}
}

// Stale returns a channel that closes when the state is out of date.
func (n *NodeState) Stale() <-chan struct{} { return n.stale }
