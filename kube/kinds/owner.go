package kinds

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// ReplicaSets is the kind apps/v1 ReplicaSet.
func ReplicaSets() kube.Kind[catalog.Owner] {
	return owners("ReplicaSet", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"})
}

// Jobs is the kind batch/v1 Job.
func Jobs() kube.Kind[catalog.Owner] {
	return owners("Job", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"})
}

func owners(kind string, r schema.GroupVersionResource) kube.Kind[catalog.Owner] {
	return kube.Kind[catalog.Owner]{
		Name:     strings.ToLower(kind),
		Resource: r,
		Form:     kube.Metadata(),
		Trim:     kube.TrimOf(trimOwner(kind)),
	}
}

func trimOwner(kind string) func(kube.Scope, metav1.Object) (*catalog.Owner, []kube.Problem) {
	return func(s kube.Scope, m metav1.Object) (*catalog.Owner, []kube.Problem) {
		d := newFieldReader(s, m.GetNamespace(), m.GetName())
		return admitted(&d, &catalog.Owner{
			Cluster: s.Cluster, Namespace: s.Intern(m.GetNamespace()),
			OwnerRef: catalog.OwnerRef{Kind: kind, Name: m.GetName()},
			Parent:   d.owner(m.GetOwnerReferences()),
		})
	}
}
