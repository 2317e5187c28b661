package kube

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/catalog"
)

// A process that may read only one namespace requests nothing else.
func TestResourcePath(t *testing.T) {
	services, nodes := corev1.SchemeGroupVersion.WithResource("services"), corev1.SchemeGroupVersion.WithResource("nodes")
	ingresses := schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	tests := map[string]struct {
		resource    schema.GroupVersionResource
		clusterWide bool
		namespace   string
		want        string
	}{
		"all namespaces":          {resource: services, want: "api/v1/services"},
		"one":                     {resource: services, namespace: "shop", want: "api/v1/namespaces/shop/services"},
		"one, of a group":         {resource: ingresses, namespace: "shop", want: "apis/networking.k8s.io/v1/namespaces/shop/ingresses"},
		"a kind without them":     {resource: nodes, clusterWide: Nodes().ClusterWide, namespace: "shop", want: "api/v1/nodes"},
		"all, of a group":         {resource: ingresses, want: "apis/networking.k8s.io/v1/ingresses"},
		"the same after a Retrim": {resource: nodes, clusterWide: Retrim[catalog.Node, catalog.Node](Nodes(), Nodes().Trim).ClusterWide, namespace: "shop", want: "api/v1/nodes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(reading{resource: tt.resource, clusterWide: tt.clusterWide}.path(tt.namespace), "/"); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
