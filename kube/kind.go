package kube

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind says how objects of one kind are read and what is kept of each, a T. Several
// kinds may keep different things of one Resource, with the same Name and Lag.
type Kind[T any] struct {
	// Name is the kind in the metric <Name>_cache_size and in a [TableStatus]. A kind without a
	// Name, such as one that the user has chosen, takes Name and Lag of another kind of the same
	// resource, or else a name that is made of the resource.
	Name string
	// Lag is the kind in the metric <Lag>_informer_lag_seconds; empty when it has none.
	Lag string
	// Resource is where the API server keeps the objects.
	Resource schema.GroupVersionResource
	// Form is how the API server is to send them. A kind that asks for [Metadata] gets whole
	// objects when another kind of the resource asks for those.
	Form Form
	// Optional is true for a kind that a cluster may lack or forbid. A resource is optional
	// if all of its kinds are.
	Optional bool
	// ClusterWide is true for objects that belong to no namespace.
	ClusterWide bool
	// Selector is a label selector, as kubectl takes it, that limits the objects; empty means
	// all. All kinds of a resource must have the same.
	Selector string
	// Trim returns what is kept of an object, and the problems of the parts that can't be
	// used. It returns nil for an object that can't be used at all. The object has no managed
	// fields, and must not be changed. Its memory may be used again ([Form.Recycled]), so Trim
	// must not keep anything that it points to but strings, unless the kind is a [FullObject] one.
	Trim func(Scope, runtime.Object) (*T, []Problem)
	// Read may be nil. Otherwise it is Trim for objects in protobuf: it reads the message
	// itself, which costs less than decoding all of an object. The message is as the API
	// server sent it, with managed fields, and is valid until Read returns. Read returns an
	// error when the message is malformed. Tables that share a watch need not all have a Read.
	Read func(s Scope, message []byte) (*T, []Problem, error)
	// Same reports whether two values of one object are equal for the handlers, which are
	// then not told of the change; nil means reflect.DeepEqual.
	Same func(a, b *T) bool
}

// Retrim returns a kind that keeps something else of the objects of k.
func Retrim[T, U any](k Kind[T], trim func(Scope, runtime.Object) (*U, []Problem)) Kind[U] {
	return Kind[U]{Name: k.Name, Lag: k.Lag, Resource: k.Resource, Form: k.Form, Optional: k.Optional, ClusterWide: k.ClusterWide, Selector: k.Selector, Trim: trim}
}

// FullObject returns a kind that keeps the whole objects of k, except for their managed fields. U
// is their Go type in the Form of k. Each new version of an object is a change.
func FullObject[U any, P interface {
	*U
	metav1.Object
}, T any](k Kind[T]) Kind[U] {
	whole := Retrim(k, TrimOf(func(_ Scope, obj P) (*U, []Problem) { return obj, nil }))
	whole.Form.empty = nil
	whole.Same = func(a, b *U) bool { return P(a).GetResourceVersion() == P(b).GetResourceVersion() }
	return whole
}

// Scope is what the objects of a resource have in common: their cluster, and values that many
// of them repeat. The zero Scope, for tests, shares no values.
type Scope struct {
	// Cluster is the name of the cluster that the objects are from.
	Cluster string

	strings *internCache[string]
	shared  *internCache[any]
}

// NewScope returns a scope for the objects of one resource of a cluster. [New] makes one for
// each resource; it is exported for the tests of kinds.
func NewScope(cluster string) Scope {
	return Scope{
		Cluster: cluster,
		strings: newInternCache[string](bounds{values: stringsLimit, bytes: stringsBytes, length: stringLength}),
		shared:  newInternCache[any](bounds{values: sharedLimit, bytes: sharedBytes, length: keyLength}),
	}
}

// Intern returns a string equal to text that shares its memory with equal strings returned
// before. It is meant for strings that many objects repeat; long ones are not shared.
func (s Scope) Intern(text string) string {
	if s.strings == nil || text == "" {
		return text
	}
	if s.strings.keeps(len(text)) {
		if known, ok := s.strings.get(text); ok {
			return known
		}
	}
	text = strings.Clone(text) // it may be a part of something large
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

// Shared returns the value that was given to [Scope.Share] for a key, unless it has been
// forgotten. All users of a scope share its keys, so each needs keys of its own, for example
// with another first byte.
func (s Scope) Shared(key []byte) (value any, known bool) {
	if s.shared == nil {
		return nil, false
	}
	return s.shared.getBytes(key)
}

// Share keeps a value that many objects repeat, for [Scope.Shared], and returns it. If there
// is a value for the key already, it returns that one. Nobody may change the value. A value is
// not kept if its key has more than 4 kB.
func (s Scope) Share(key []byte, value any) any {
	if s.shared == nil || !s.shared.keeps(len(key)) {
		return value
	}
	return s.shared.add(string(key), value)
}

// TrimOf makes a [Kind.Trim] of a function that trims a K: the Go type of the objects, or
// an interface that it has. An object that is no K is a problem.
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
