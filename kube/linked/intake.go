package linked

import (
	"maps"
	"slices"
	"sync"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube/kinds"
)

// Catalog receives the objects of the clusters. *catalog.Catalog is one.
type Catalog interface {
	kinds.Sink
	// Replace replaces all objects of a cluster.
	Replace(cluster string, objects []catalog.Object)
}

// intake passes the objects of one connection to the catalog. The first connection of a cluster passes them
// on as they come, because no response uses them until the cluster is synced. A connection that replaces
// another keeps them back until they are complete; until then the catalog has the other's.
type intake struct {
	catalog Catalog

	mu      sync.Mutex
	cluster *catalog.Cluster
	// kept holds the objects until they are complete; nil if they are passed on at once.
	kept   map[catalog.ID]catalog.Object
	closed bool
}

var _ kinds.Sink = (*intake)(nil)

// Put implements [kinds.Sink].
func (in *intake) Put(v catalog.Object) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed:
	case in.kept != nil:
		in.kept[v.ID()] = v
	default:
		in.catalog.Put(v)
	}
}

// Delete implements [kinds.Sink].
func (in *intake) Delete(id catalog.ID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.closed:
	case in.kept != nil:
		delete(in.kept, id)
	default:
		in.catalog.Delete(id)
	}
}

// complete is called when all objects of the cluster have been put.
func (in *intake) complete() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	synced := *in.cluster
	synced.Synced = true
	in.cluster = &synced
	if in.kept == nil {
		in.catalog.Put(in.cluster)
		return
	}
	in.kept[in.cluster.ID()] = in.cluster
	in.catalog.Replace(in.cluster.Name, slices.Collect(maps.Values(in.kept)))
	in.kept = nil
}

// rename changes the names that the cluster gets when it is complete, such as its trust domain.
func (in *intake) rename(cluster *catalog.Cluster) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.cluster = cluster
}

// close makes the intake drop later objects of the connection.
func (in *intake) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
}
