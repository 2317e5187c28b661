package catalog

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// A change is applied at once unless the last step was less than quietDelay ago. Then changes
// are collected until none has come for quietDelay, for maxDelay at most, and applied as one
// step.
const (
	quietDelay = 3 * time.Millisecond
	maxDelay   = 50 * time.Millisecond
)

// Options are the settings of a [Catalog].
type Options struct {
	// DefaultOpaquePorts apply to workloads without the opaque-ports annotation.
	DefaultOpaquePorts PortSet
	// Log takes a line for each step, at the level debug; nil for none.
	Log *slog.Logger
}

// Catalog holds the current state of the clusters. The package comment says who
// may call what.
type Catalog struct {
	options Options

	inbox  inbox
	synced chan struct{}

	mu    sync.RWMutex // guards state: written by the step alone
	state *state

	// snapshots has the snapshots that are in use and not stale. It has its own lock, so that
	// readers of different Services don't wait for each other's work.
	snapshotsMu sync.Mutex
	snapshots   map[ServiceKey]*Snapshot
}

// New returns an empty catalog. It answers as soon as Run runs and MarkSynced
// was called.
func New(o Options) *Catalog {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Catalog{
		options:   o,
		inbox:     inbox{batch: newBatch(), poke: make(chan struct{}, 1)},
		synced:    make(chan struct{}),
		state:     newState(),
		snapshots: map[ServiceKey]*Snapshot{},
	}
}

// inbox collects changes until the next step takes them. Of several changes of one object, the
// last one counts.
type inbox struct {
	mu sync.Mutex
	batch
	synced bool
	poke   chan struct{} // holds a token while there is something to take
}

// batch is what a step applies: the objects change, and all other objects of the replaced
// clusters are deleted.
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

// Put makes v the current version of its object. It never blocks on a step.
func (c *Catalog) Put(v Object) {
	c.inbox.put(func() { c.inbox.changes[v.ID()] = v })
}

// Delete removes an object. It never blocks on a step.
func (c *Catalog) Delete(id ID) {
	c.inbox.put(func() { c.inbox.changes[id] = nil })
}

// Replace makes these objects the only ones of a cluster, in one step. If its Cluster is not
// among them, the cluster is forgotten: for readers in one step, though its objects are deleted
// in several. Replace never blocks on a step.
func (c *Catalog) Replace(cluster string, objects []Object) {
	c.inbox.put(func() {
		maps.DeleteFunc(c.inbox.changes, func(id ID, _ Object) bool { return id.Cluster == cluster })
		c.inbox.replaced[cluster] = struct{}{}
		for _, v := range objects {
			c.inbox.changes[v.ID()] = v
		}
	})
}

// MarkSynced says that all objects of the local cluster have been put. From the step that
// applies this, an object that the catalog doesn't have doesn't exist.
func (c *Catalog) MarkSynced() {
	c.inbox.put(func() { c.inbox.synced = true })
}

// Synced returns a channel that closes once everything that was put before MarkSynced has been
// applied. Before that, answers may be incomplete, and nobody should give one.
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

// holdOff returns once no change has come for quietDelay, or after maxDelay. It
// returns false when the context ended.
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

// step applies all pending changes as one, and then tells the readers of what changed.
func (c *Catalog) step() {
	batch, synced := c.inbox.take()
	begun := time.Now()
	c.mu.Lock()
	c.state.applyAll(batch)
	services := len(c.state.dirty)
	// The channels close under the lock, so that nobody reads the new state before the old one
	// is known to be stale. Those of nodes close first: a client that learns of a new answer
	// then knows already if it has moved.
	for _, n := range c.state.moved {
		close(n.stale)
	}
	c.state.moved = nil
	stale, profiles := c.dropStale(), c.state.facts.takeStale()
	for _, s := range stale {
		close(s.stale)
	}
	for _, s := range profiles {
		close(s.stale)
	}
	more := len(c.state.forgotten) > 0
	c.mu.Unlock()
	if more {
		c.inbox.put(func() {})
	}
	if synced {
		c.closeSynced()
	}
	if ctx := context.Background(); c.options.Log.Enabled(ctx, slog.LevelDebug) {
		c.options.Log.LogAttrs(ctx, slog.LevelDebug, "Objects are applied", slog.Int("changes", len(batch.changes)), slog.Int("services", services),
			slog.Int("staleServices", len(stale)), slog.Int("staleProfiles", len(profiles)), slog.Duration("took", time.Since(begun)))
	}
}

func (c *Catalog) closeSynced() {
	select {
	case <-c.synced:
	default:
		close(c.synced)
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

// Service returns the current Snapshot of a Service. It is never nil; its Service is nil when
// there is none. The call is cheap while nothing has changed. The caller releases the Snapshot
// when it is no longer needed, stale or not.
func (c *Catalog) Service(key ServiceKey) *Snapshot {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if s := c.cached(key); s != nil {
		return s
	}
	s := c.state.snapshot(key, &c.options)
	s.catalog = c
	c.snapshotsMu.Lock()
	defer c.snapshotsMu.Unlock()
	// Another reader may have been faster; all must use the same value.
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

// Release tells the catalog that the caller needs the snapshot no longer. It is called once for
// each call that returned the snapshot. When nobody needs it, the channel of Stale may never
// close.
func (s *Snapshot) Release() {
	s.catalog.snapshotsMu.Lock()
	defer s.catalog.snapshotsMu.Unlock()
	s.users--
	if s.users == 0 && s.catalog.snapshots[s.Key] == s {
		delete(s.catalog.snapshots, s.Key)
	}
}

// FindService looks a Service up. Unlike Service, it keeps nothing for a name that doesn't exist.
func (c *Catalog) FindService(key ServiceKey) (*Service, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s, ok := c.state.services[key]
	return s, ok
}

// Cluster returns a linked cluster, nil when there is none of that name.
func (c *Catalog) Cluster(name string) *Cluster {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.state.clusters[name]
}

// Node returns what is known of a node. It is never nil; its zone is empty when the node or its
// zone is unknown.
func (c *Catalog) Node(cluster, name string) *NodeState {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if n := c.state.nodes[nodeKey{cluster, name}]; n != nil {
		return n
	}
	return c.state.unknownNode
}

// NodeState is what was known of a node at one time.
type NodeState struct {
	// Zone is empty when the node or its zone is unknown.
	Zone string

	region string
	stale  chan struct{}
}

func newNodeState(zone, region string) *NodeState {
	return &NodeState{Zone: zone, region: region, stale: make(chan struct{})}
}

// Stale returns a channel that closes when the state is out of date.
func (n *NodeState) Stale() <-chan struct{} { return n.stale }
