package kube

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/catalog"
)

// Nodes is the kind core/v1 Node.
func Nodes() Kind[catalog.Node] {
	return Kind[catalog.Node]{
		Name:     "node",
		Resource: corev1.SchemeGroupVersion.WithResource("nodes"),
		Form:     Metadata(),
		Trim:     TrimOf(trimNode),

		ClusterWide: true,
	}
}

func trimNode(s Scope, node metav1.Object) (*catalog.Node, []catalog.Problem) {
	return &catalog.Node{
		Cluster: s.Cluster,
		Name:    s.Intern(node.GetName()),
		Zone:    s.Intern(node.GetLabels()[corev1.LabelTopologyZone]),
	}, nil
}
