package endpointslices

import (
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/signpostd/signpost/controllers/watched"
)

// unnamedNode is what an error of the library says of a pod without a node.
const unnamedNode = "Node  Not Found"

// namePodsWithoutNode returns an error of the library with a reason for pods without a node.
func namePodsWithoutNode(err error) error {
	if all, ok := err.(utilerrors.Aggregate); ok { //nolint:errorlint // of an error that wraps one, the text can't be replaced
		named := make([]error, 0, len(all.Errors()))
		for _, each := range all.Errors() {
			named = append(named, namePodsWithoutNode(each))
		}
		return utilerrors.NewAggregate(named)
	}
	if before, ok := strings.CutSuffix(err.Error(), unnamedNode); ok {
		return errors.New(before + "the pod has an IP address but no node: set its spec.nodeName by a Binding, or delete the pod")
	}
	return err
}

// orphanGrace is how long a deleted Node counts as existing. The pod garbage collector waits as long before
// it deletes the pods of such a Node.
const orphanGrace = 40 * time.Second

// nodes has the existing Nodes, and those deleted within [orphanGrace], so that deleting and recreating a
// Node changes no slice. The data comes from the table's handler and not from the table, because the table
// drops a deleted Node before its handlers are called.
type nodes struct {
	mu      sync.Mutex
	exist   map[string]*watched.Node
	deleted map[string]deletedNode
}

// deletedNode is the last version of a deleted Node, and until when it counts as existing.
type deletedNode struct {
	last  *watched.Node
	until time.Time
}

var _ listers.NodeLister = (*nodes)(nil)

func newNodes() *nodes {
	return &nodes{exist: map[string]*watched.Node{}, deleted: map[string]deletedNode{}}
}

// changed records that a Node was added, changed or deleted. It reports whether endpoints on the node must be
// written again, because the node is new or in another zone.
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
	if complete(current) {
		delete(n.deleted, current.Name)
	}
	return before == nil || before.Zone != n.get(current.Name, now).Zone
}

// assume treats Nodes as just deleted that were deleted before this process read anything.
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

// expire forgets deleted Nodes whose grace period has ended. It returns the time until the next one ends;
// zero for none.
func (n *nodes) expire() (next time.Duration) {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.prune(now)
	for _, d := range n.deleted {
		if left := d.until.Sub(now); next == 0 || left < next {
			next = left
		}
	}
	return next
}

// prune forgets deleted Nodes whose grace period has ended. The caller holds the lock.
func (n *nodes) prune(now time.Time) {
	maps.DeleteFunc(n.deleted, func(_ string, d deletedNode) bool { return !now.Before(d.until) })
}

// get returns the effective version of a Node; nil if it counts as deleted. The caller holds the lock.
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

// complete reports whether a Node has everything that kubelet and cloud controller add soon after its
// creation.
func complete(n *watched.Node) bool { return n.Zone != "" && n.Ready && n.MilliCPU > 0 }

func (n *nodes) node(name string) *watched.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.get(name, time.Now())
}

// Get implements listers.NodeLister. The error is NotFound if there is no Node of that name.
func (n *nodes) Get(name string) (*corev1.Node, error) {
	node := n.node(name)
	if node == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return node.Object(), nil
}

// all returns all Nodes. Deleted ones without a zone or CPU are left out, because they would prevent hints.
func (n *nodes) all() []*watched.Node {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]*watched.Node, 0, len(n.exist)+len(n.deleted))
	for name := range n.exist {
		all = append(all, n.get(name, now))
	}
	for name := range n.deleted {
		if node := n.get(name, now); n.exist[name] == nil && node != nil && complete(node) {
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

// cpuByZone returns the CPU of each zone in thousandths, by which the library decides on hints and
// distributes endpoints. It returns nil if no hints are possible.
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
