package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/catalog"
)

// Kind says how objects of one kind are read and what is kept of each, a T.
type Kind[T any] struct {
	// Name is the kind in the metric <Name>_cache_size and in a [TableStatus].
	Name string
	// Lag is the kind in the metric <Lag>_informer_lag_seconds; empty when it has none.
	Lag string
	// Resource is where the API server keeps the objects.
	Resource schema.GroupVersionResource
	// Form is how the API server is to send them.
	Form Form
	// Optional is true for a kind that a cluster may lack or keep to itself.
	Optional bool
	// Trim returns what is kept of an object, and the problems of the parts that
	// can't be used. It returns nil for an object that can't be used at all.
	// It must not keep the object nor anything that the object points to but strings.
	Trim func(Scope, runtime.Object) (*T, []catalog.Problem)
}

// Scope is what the objects of a table have in common. The zero Scope is for tests.
type Scope struct {
	// Cluster is the name of the cluster that the objects are from.
	Cluster string

	strings *interner
}

// Intern returns a string equal to s that shares its memory with those returned
// before. It is meant for strings that many objects repeat.
func (s Scope) Intern(text string) string {
	if s.strings == nil {
		return text
	}
	return s.strings.intern(text)
}

// trimming adapts a trim function of one Go type to [Kind.Trim].
func trimming[K runtime.Object, T any](trim func(Scope, K) (*T, []catalog.Problem)) func(Scope, runtime.Object) (*T, []catalog.Problem) {
	return func(s Scope, obj runtime.Object) (*T, []catalog.Problem) {
		k, ok := obj.(K)
		if ok {
			return trim(s, k)
		}
		p := catalog.Problem{
			Kind:   obj.GetObjectKind().GroupVersionKind().Kind,
			Reason: fmt.Sprintf("the API server sent a %T instead of a %T; check that its version is supported", obj, k),
		}
		if m, err := meta.Accessor(obj); err == nil {
			p.Namespace, p.Name = m.GetNamespace(), m.GetName()
		}
		return nil, []catalog.Problem{p}
	}
}
