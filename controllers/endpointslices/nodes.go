package endpointslices

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
)

// nodeLister makes the table of nodes a listers/core/v1.NodeLister, which the library reads.
type nodeLister struct {
	table *kube.Table[watched.Node]
}

// Get returns a node; the error is NotFound when there is none of that name.
func (l nodeLister) Get(name string) (*corev1.Node, error) {
	n := l.table.Get("", name)
	if n == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return n.Object(), nil
}

// List returns the nodes that a selector selects.
func (l nodeLister) List(selector labels.Selector) ([]*corev1.Node, error) {
	var nodes []*corev1.Node
	for _, n := range l.table.List() {
		if node := n.Object(); selector.Matches(labels.Set(node.Labels)) {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// parseKey reads "namespace/name".
func parseKey(text string) reconcile.Key {
	namespace, name, _ := strings.Cut(text, "/")
	return reconcile.Key{Namespace: namespace, Name: name}
}
