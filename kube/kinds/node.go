package kinds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// Nodes is the kind core/v1 Node.
func Nodes() kube.Kind[catalog.Node] {
	return kube.Kind[catalog.Node]{
		Name:     "node",
		Resource: corev1.SchemeGroupVersion.WithResource("nodes"),
		Form:     kube.Metadata(),
		Trim:     kube.TrimOf(trimNode),

		ClusterWide: true,
	}
}

func trimNode(s kube.Scope, node metav1.Object) (*catalog.Node, []kube.Problem) {
	d := newFieldReader(s, "", node.GetName())
	return admitted(&d, &catalog.Node{
		Cluster: s.Cluster,
		Name:    s.Intern(node.GetName()),
		Zone:    d.optional(node.GetLabels()[corev1.LabelTopologyZone], labelLimit, "metadata.labels["+corev1.LabelTopologyZone+"]"),
		Region:  d.optional(node.GetLabels()[corev1.LabelTopologyRegion], labelLimit, "metadata.labels["+corev1.LabelTopologyRegion+"]"),
	})
}
