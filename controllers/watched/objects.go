package watched

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"bytes"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/internal/wire"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// Services is the kind core/v1 Service, kept in full.
func Services() kube.Kind[corev1.Service] {
	return kube.FullObject[corev1.Service](kinds.Services())
}

// EncodedEndpoints are core/v1 Endpoints.
type EncodedEndpoints = Encoded[corev1.Endpoints, *corev1.Endpoints]

// Endpoints is the kind core/v1 Endpoints. Each new version of an object is a change.
func Endpoints() kube.Kind[EncodedEndpoints] {
	read := func(s kube.Scope, message []byte) (*EncodedEndpoints, []kube.Problem, error) {
		e := &EncodedEndpoints{}
		return e, nil, e.read(s, message, func(int, []byte) error { return nil })
	}
	kind := kube.Retrim(kinds.Endpoints(), trimBy[*corev1.Endpoints](read))
	kind.Read, kind.Same = read, (*EncodedEndpoints).sameVersion
	return kind
}

// Slice is a discovery.k8s.io/v1 EndpointSlice.
type Slice struct {
	Encoded[discoveryv1.EndpointSlice, *discoveryv1.EndpointSlice]
	// Service and ManagedBy are the values of the labels kubernetes.io/service-name and
	// endpointslice.kubernetes.io/managed-by; empty if they are missing.
	Service, ManagedBy string
	// Terminating is true once the slice is being deleted.
	Terminating bool
}

// EndpointSlices is the kind discovery.k8s.io/v1 EndpointSlice. The slices that one of the given writers
// manages, by the label endpointslice.kubernetes.io/managed-by, are kept in full; of other slices only the
// metadata. Each new version of an object is a change.
func EndpointSlices(writers ...string) kube.Kind[Slice] {
	read := func(s kube.Scope, message []byte) (*Slice, []kube.Problem, error) {
		slice := &Slice{}
		err := slice.read(s, message, func(number int, field []byte) error { return slice.visit(s, number, field) })
		if err == nil && !slices.Contains(writers, slice.ManagedBy) {
			slice.fields = bytes.Clone(slice.fields[:slice.n])
		}
		return slice, nil, err
	}
	kind := kube.Retrim(kinds.EndpointSlices(), trimBy[*discoveryv1.EndpointSlice](read))
	kind.Read = read
	kind.Same = func(a, b *Slice) bool { return a.sameVersion(&b.Encoded) }
	return kind
}

// visit reads a field of the metadata.
func (e *Slice) visit(s kube.Scope, number int, field []byte) error {
	switch number {
	case wire.MetadataDeletionTimestamp:
		e.Terminating = true
	case wire.MetadataLabels:
		key, value, err := wire.Entry(field)
		if err != nil {
			return err
		}
		switch string(key) {
		case discoveryv1.LabelServiceName:
			e.Service = s.InternBytes(value)
		case discoveryv1.LabelManagedBy:
			e.ManagedBy = s.InternBytes(value)
		}
	}
	return nil
}

// trimBy makes a [kube.Kind.Trim] from a [kube.Kind.Read], for objects that are not in protobuf.
func trimBy[P encodable[O], T, O any](read func(kube.Scope, []byte) (*T, []kube.Problem, error)) func(kube.Scope, runtime.Object) (*T, []kube.Problem) {
	return kube.TrimOf(func(s kube.Scope, object P) (*T, []kube.Problem) {
		message, err := object.Marshal()
		if err != nil {
			return nil, []kube.Problem{unkept(err)}
		}
		kept, problems, err := read(s, message)
		if err != nil {
			return nil, []kube.Problem{unkept(err)}
		}
		return kept, problems
	})
}

func unkept(err error) kube.Problem {
	return kube.Problem{Reason: fmt.Sprintf("the object can't be kept: %v", err)}
}

// ByService is the index of a table of EndpointSlices by "namespace/name" of their Service.
const ByService = "service"

// ServiceOf returns the Service of a slice, from the label kubernetes.io/service-name. It returns false
// without the label.
func ServiceOf(s *discoveryv1.EndpointSlice) (types.NamespacedName, bool) {
	name := s.Labels[discoveryv1.LabelServiceName]
	return types.NamespacedName{Namespace: s.Namespace, Name: name}, name != ""
}

// Key returns the Service of a slice. It returns false if the slice has none.
func (e *Slice) Key() (types.NamespacedName, bool) {
	return types.NamespacedName{Namespace: e.GetNamespace(), Name: e.Service}, e.Service != ""
}

// ServiceKeys returns the keys of a slice in the index [ByService].
func ServiceKeys(e *Slice) []string {
	key, ok := e.Key()
	if !ok {
		return nil
	}
	return []string{key.String()}
}
