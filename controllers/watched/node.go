package watched

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// The labels that exclude a node from the distribution of endpoints over zones (spec/endpoints.md §2).
const (
	controlPlaneLabel = "node-role.kubernetes.io/control-plane"
	masterLabel       = "node-role.kubernetes.io/master"
)

// Node has the fields of a core/v1 Node that endpoints depend on (spec/endpoints.md §13.10).
type Node struct {
	Name string
	// Zone is the label topology.kubernetes.io/zone; empty if it is missing.
	Zone string
	// ControlPlane is true for a node with a control plane label.
	ControlPlane bool
	Ready        bool
	// MilliCPU is the allocatable CPU; zero if unknown.
	MilliCPU int64

	object *corev1.Node
}

// Nodes is the kind core/v1 Node.
func Nodes() kube.Kind[Node] {
	kind := kube.Retrim(kinds.Nodes(), kube.TrimOf(trimNode))
	// The metadata alone is not enough, because allocatable resources are in the status.
	kind.Form = kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.NodeList{} }).
		Without("status.images", "status.volumesInUse", "status.volumesAttached", "status.addresses", "status.nodeInfo",
			"status.conditions.reason", "status.conditions.message", "status.conditions.lastHeartbeatTime")
	return kind
}

func trimNode(s kube.Scope, node *corev1.Node) (*Node, []kube.Problem) {
	trimmed := &Node{Name: s.Intern(node.Name), Zone: s.Intern(node.Labels[corev1.LabelTopologyZone])}
	_, controlPlane := node.Labels[controlPlaneLabel]
	_, master := node.Labels[masterLabel]
	trimmed.ControlPlane = controlPlane || master
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			trimmed.Ready = c.Status == corev1.ConditionTrue
		}
	}
	if cpu := node.Status.Allocatable.Cpu(); cpu != nil {
		trimmed.MilliCPU = cpu.MilliValue()
	}
	trimmed.object = trimmed.makeObject()
	return trimmed, nil
}

// Completed returns the Node with missing values filled in from an earlier Node of its name, because a
// recreated Node gets its zone, conditions and CPU only after a while.
func (n *Node) Completed(earlier *Node) *Node {
	completed := Node{
		Name: n.Name, Zone: cmp.Or(n.Zone, earlier.Zone), ControlPlane: n.ControlPlane || earlier.ControlPlane,
		Ready: n.Ready || earlier.Ready, MilliCPU: cmp.Or(n.MilliCPU, earlier.MilliCPU),
	}
	completed.object = completed.makeObject()
	return &completed
}

// Object returns the API object with the fields that endpoints depend on. It is shared and must not be
// changed, because each endpoint of the cluster needs the object of its node.
func (n *Node) Object() *corev1.Node {
	if n.object != nil {
		return n.object
	}
	return n.makeObject()
}

func (n *Node) makeObject() *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: map[string]string{}}}
	if n.Zone != "" {
		node.Labels[corev1.LabelTopologyZone] = n.Zone
	}
	if n.ControlPlane {
		node.Labels[controlPlaneLabel] = ""
	}
	if n.Ready {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
	if n.MilliCPU > 0 {
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(n.MilliCPU, resource.DecimalSI)}
	}
	return node
}
