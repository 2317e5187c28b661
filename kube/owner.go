package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/catalog"
)

// ReplicaSets is the kind apps/v1 ReplicaSet.
func ReplicaSets() Kind[catalog.Owner] {
	return Kind[catalog.Owner]{
		Name:     "replicaset",
		Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"},
		Form:     Metadata(),
		Trim:     TrimOf(trimOwner("ReplicaSet")),
	}
}

// Jobs is the kind batch/v1 Job.
func Jobs() Kind[catalog.Owner] {
	return Kind[catalog.Owner]{
		Name:     "job",
		Resource: schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"},
		Form:     Metadata(),
		Trim:     TrimOf(trimOwner("Job")),
	}
}

func trimOwner(kind string) func(Scope, metav1.Object) (*catalog.Owner, []catalog.Problem) {
	return func(s Scope, m metav1.Object) (*catalog.Owner, []catalog.Problem) {
		return &catalog.Owner{
			Cluster: s.Cluster, Namespace: s.Intern(m.GetNamespace()),
			OwnerRef: catalog.OwnerRef{Kind: kind, Name: m.GetName()},
			Parent:   s.owner(m),
		}, nil
	}
}
