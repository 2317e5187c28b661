package kube

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind describes how objects of one kind are read, and which T is kept of each. Several kinds may keep
// different things of one Resource, if they have the same Name and Lag.
type Kind[T any] struct {
	// Name is the kind in the metric <Name>_cache_size and in a [TableStatus]. A kind without a Name, such as
	// one that the user has chosen, takes Name and Lag of another kind of the same resource, else a name
	// derived from the resource.
	Name string
	// Lag is the kind in the metric <Lag>_informer_lag_seconds; empty for none.
	Lag string
	// Resource is the API resource of the objects.
	Resource schema.GroupVersionResource
	// Form is the encoding of the objects. A kind that asks for [Metadata] gets full objects if another kind
	// of the resource asks for those.
	Form Form
	// Optional is true for a kind that a cluster may lack or forbid. A resource is optional if all of its
	// kinds are.
	Optional bool
	// ClusterWide is true for objects without a namespace.
	ClusterWide bool
	// Selector is a label selector in kubectl's syntax; empty selects all objects. All kinds of a resource
	// must have the same.
	Selector string
	// Trim returns what is kept of an object, and the problems of the parts that can't be used. It returns
	// nil if the object can't be used at all. The object has no managed fields and must not be changed.
	Trim func(Scope, runtime.Object) (*T, []Problem)
	// Read, if not nil, is Trim for objects in protobuf: it reads the message itself, which costs less than
	// decoding a full object. The message is as the API server sent it, managed fields included, and valid
	// until Read returns. Read returns an error if the message is malformed. Tables that share a watch need
	// not all have a Read.
	Read func(s Scope, message []byte) (*T, []Problem, error)
	// Same reports whether two values of an object are equal for the handlers, which are then not called; nil
	// means reflect.DeepEqual.
	Same func(a, b *T) bool
}

// Retrim returns a kind that keeps something else of the objects of k.
func Retrim[T, U any](k Kind[T], trim func(Scope, runtime.Object) (*U, []Problem)) Kind[U] {
	return Kind[U]{Name: k.Name, Lag: k.Lag, Resource: k.Resource, Form: k.Form, Optional: k.Optional, ClusterWide: k.ClusterWide, Selector: k.Selector, Trim: trim}
}

// FullObject returns a kind that keeps the full objects of k, without managed fields. U is their Go type in
// the Form of k. Each new version of an object is a change.
func FullObject[U any, P interface {
	*U
	metav1.Object
}, T any](k Kind[T]) Kind[U] {
	whole := Retrim(k, TrimOf(func(_ Scope, obj P) (*U, []Problem) { return obj, nil }))
	whole.Same = func(a, b *U) bool { return P(a).GetResourceVersion() == P(b).GetResourceVersion() }
	return whole
}

// Scope is what the objects of a resource have in common: their cluster, and a cache of values that many of
// them repeat. The zero Scope, for tests, shares no values.
type Scope struct {
	// Cluster is the name of the objects' cluster.
	Cluster string

	strings *internCache[string]
	shared  *internCache[any]
}

// NewScope returns a scope for the objects of one resource of a cluster. [New] makes one for each resource;
// NewScope is exported for the tests of kinds.
func NewScope(cluster string) Scope {
	return Scope{
		Cluster: cluster,
		strings: newInternCache[string](bounds{values: stringsLimit, bytes: stringsBytes, length: stringLength}),
		shared:  newInternCache[any](bounds{values: sharedLimit, bytes: sharedBytes, length: keyLength}),
	}
}

// Intern returns a string equal to text that shares its memory with equal strings returned before. Use it for
// strings that many objects repeat; long strings are not shared.
func (s Scope) Intern(text string) string {
	if s.strings == nil || text == "" {
		return text
	}
	if s.strings.keeps(len(text)) {
		if known, ok := s.strings.get(text); ok {
			return known
		}
	}
	text = strings.Clone(text) // text may be part of a large string
	return s.strings.add(text, text)
}

// InternBytes is Intern for bytes, which are not kept.
func (s Scope) InternBytes(text []byte) string {
	if s.strings == nil || len(text) == 0 {
		return string(text)
	}
	if known, ok := s.strings.getBytes(text); ok {
		return known
	}
	kept := string(text)
	return s.strings.add(kept, kept)
}

// Shared returns the value that [Scope.Share] got for a key, unless it was evicted. All users of a scope
// share its keys, so each needs keys of its own, for example with a first byte of its own.
func (s Scope) Shared(key []byte) (value any, known bool) {
	if s.shared == nil {
		return nil, false
	}
	return s.shared.getBytes(key)
}

// Share caches a value that many objects repeat, for [Scope.Shared], and returns it. If the key already has a
// value, Share returns that one. The value must not be changed. A value is not cached if its key has more
// than 4 kB.
func (s Scope) Share(key []byte, value any) any {
	if s.shared == nil || !s.shared.keeps(len(key)) {
		return value
	}
	return s.shared.add(string(key), value)
}

// TrimOf makes a [Kind.Trim] from a function that trims a K: the Go type of the objects, or an interface that
// it implements. An object of another type is a problem.
func TrimOf[K, T any](trim func(Scope, K) (*T, []Problem)) func(Scope, runtime.Object) (*T, []Problem) {
	return func(s Scope, obj runtime.Object) (*T, []Problem) {
		k, ok := obj.(K)
		if ok {
			return trim(s, k)
		}
		return nil, []Problem{{Reason: fmt.Sprintf(
			"the API server sent a %T instead of a %v; check that its version is supported", obj, reflect.TypeFor[K](),
		)}}
	}
}
