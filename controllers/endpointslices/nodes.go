package endpointslices

import (
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
)

// orphanGrace is how long a deleted Node counts as if it still existed. The pod garbage collector waits as
// long before it deletes the pods of such a node.
const orphanGrace = 40 * time.Second

// nodes are the Nodes as the slices see them: those that exist, and those that were deleted within the [orphanGrace].
// So a Node that is deleted and created again changes no slice. They follow the handler of the table and not the table
// itself, which lacks a deleted Node before its handlers know.
type nodes struct {
	mu      sync.Mutex
	exist   map[string]*watched.Node
	deleted map[string]deletedNode
}

// deletedNode is a Node that was deleted, as it was last. It counts until a time.
type deletedNode struct {
	last  *watched.Node
	until time.Time
}

var _ listers.NodeLister = (*nodes)(nil)

func newNodes() *nodes {
	return &nodes{exist: map[string]*watched.Node{}, deleted: map[string]deletedNode{}}
}

// changed notes that a Node has come, changed or gone. It reports whether endpoints on the node have to be written
// again: because the node is new, or has another zone.
func (n *nodes) changed(old, current *watched.Node) (moved bool) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if current == nil {
		n.deleted[old.Name] = deletedNode{last: n.get(old.Name, now), until: now.Add(orphanGrace)}
		delete(n.exist, old.Name)
		n.prune(now)
		return false
	}
	before := n.get(current.Name, now)
	n.exist[current.Name] = current
	if whole(current) {
		delete(n.deleted, current.Name)
	}
	return before == nil || before.Zone != n.get(current.Name, now).Zone
}

// assume counts Nodes as just deleted that were deleted before this process read anything.
func (n *nodes) assume(missing []*watched.Node) {
	until := time.Now().Add(orphanGrace)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, node := range missing {
		if _, known := n.deleted[node.Name]; !known {
			n.deleted[node.Name] = deletedNode{last: node, until: until}
		}
	}
}

// expire forgets the deleted Nodes whose time is over. It returns after which time there is another one to forget; zero
// if there is none.
func (n *nodes) expire() (wake time.Duration) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.prune(now)
	for _, d := range n.deleted {
		if left := d.until.Sub(now); wake == 0 || left < wake {
			wake = left
		}
	}
	return wake
}

// prune forgets the deleted Nodes whose time is over. The caller holds the lock.
func (n *nodes) prune(now time.Time) {
	maps.DeleteFunc(n.deleted, func(_ string, d deletedNode) bool { return !now.Before(d.until) })
}

// get returns what a Node counts as; nil if it doesn't count as existing. The caller holds the lock.
func (n *nodes) get(name string, now time.Time) *watched.Node {
	exists := n.exist[name]
	switch d, ok := n.deleted[name]; {
	case !ok || !now.Before(d.until):
		return exists
	case exists == nil:
		return d.last
	default:
		return exists.Completed(d.last)
	}
}

// whole reports whether a Node has all that a kubelet or cloud controller adds soon after the Node was created.
func whole(n *watched.Node) bool { return n.Zone != "" && n.Ready && n.MilliCPU > 0 }

// node returns a Node, or nil.
func (n *nodes) node(name string) *watched.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.get(name, time.Now())
}

// Get implements listers.NodeLister. The error is NotFound when there is no Node of that name.
func (n *nodes) Get(name string) (*corev1.Node, error) {
	node := n.node(name)
	if node == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return node.Object(), nil
}

// all returns all Nodes. Deleted ones without a zone or a CPU are left out: they would keep Services from having hints.
func (n *nodes) all() []*watched.Node {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]*watched.Node, 0, len(n.exist)+len(n.deleted))
	for name := range n.exist {
		all = append(all, n.get(name, now))
	}
	for name := range n.deleted {
		if node := n.get(name, now); n.exist[name] == nil && node != nil && whole(node) {
			all = append(all, node)
		}
	}
	return all
}

// List implements listers.NodeLister.
func (n *nodes) List(selector labels.Selector) ([]*corev1.Node, error) {
	var list []*corev1.Node
	for _, each := range n.all() {
		if node := each.Object(); selector.Matches(labels.Set(node.Labels)) {
			list = append(list, node)
		}
	}
	return list, nil
}

// cpuByZone returns the CPU of each zone, in thousandths: what the library decides by whether Services get hints, and
// how their endpoints are distributed. It is nil if there can be no hints.
func cpuByZone(all []*watched.Node) map[string]int64 {
	cpus := map[string]int64{}
	for _, n := range all {
		switch {
		case n.ControlPlane || !n.Ready:
		case n.Zone == "" || n.MilliCPU == 0:
			return nil
		default:
			cpus[n.Zone] += n.MilliCPU
		}
	}
	if len(cpus) < 2 {
		return nil
	}
	return cpus
}

// parseKey reads "namespace/name".
func parseKey(text string) reconcile.Key {
	namespace, name, _ := strings.Cut(text, "/")
	return reconcile.Key{Namespace: namespace, Name: name}
}
