package kube

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	protobufType = "application/vnd.kubernetes.protobuf"
	jsonType     = "application/json"
	asObject     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asList       = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Form is the encoding in which the API server sends the objects of a kind. Make one with [Protobuf], [JSON],
// [Metadata] or [Unstructured].
type Form struct {
	newList func() runtime.Object
	// partial is true if objects come with their metadata only.
	partial bool
	// loose is true if objects are unstructured.
	loose bool
	// acceptList and acceptWatch are the Accept headers.
	acceptList, acceptWatch string
	serializer              func() (runtime.NegotiatedSerializer, error)
	// unread are the paths of fields that are never decoded.
	unread []string
}

// managedFields are never decoded, because their times are read from the message before.
var managedFields = []string{"metadata.managedFields"}

// Without returns the form for kinds whose Trim doesn't read the fields at these paths, such as
// "spec.containers.image". Objects then come without these fields, unless another table needs them. The Form
// must be made by [Protobuf], and the fields must not belong to the metadata.
func (f Form) Without(paths ...string) Form {
	f.unread = slices.Concat(f.unread, paths)
	return f
}

// Protobuf is the form for the built-in kinds of Kubernetes. The function add registers the kind in a scheme;
// newList returns an empty list of it.
func Protobuf(add func(*runtime.Scheme) error, newList func() runtime.Object) Form {
	return Form{
		newList: newList, acceptList: protobufType, acceptWatch: protobufType,
		serializer: serializerOf(add), unread: managedFields,
	}
}

// JSON is the form for custom resources, which have no protobuf. The Go type must decode everything that the
// API server may store, because one undecodable object hides all others.
func JSON(add func(*runtime.Scheme) error, newList func() runtime.Object) Form {
	return Form{newList: newList, acceptList: jsonType, acceptWatch: jsonType, serializer: serializerOf(add)}
}

// Metadata is the form for kinds of which only the metadata matters. The objects are
// *metav1.PartialObjectMetadata, or full objects if another table of the resource needs those: the kind's
// Trim must take any metav1.Object.
func Metadata() Form {
	return Form{
		newList:     func() runtime.Object { return &metav1.PartialObjectMetadataList{} },
		partial:     true,
		unread:      managedFields,
		acceptList:  protobufType + asList,
		acceptWatch: protobufType + asObject,
		serializer: func() (runtime.NegotiatedSerializer, error) {
			return metadata.ConfigFor(&rest.Config{}).NegotiatedSerializer, nil
		},
	}
}

// item returns the Go type of the objects.
func (f Form) item() (reflect.Type, error) {
	list := f.newList()
	items, ok := reflect.TypeOf(list).Elem().FieldByName("Items")
	if !ok {
		return nil, fmt.Errorf("%T is no list: it has no Items", list)
	}
	return items.Type.Elem(), nil
}

// protobuf reports whether watches come as protobuf.
func (f Form) protobuf() bool { return strings.HasPrefix(f.acceptWatch, protobufType) }

// with returns a form that serves kinds of both forms: full objects, if one of them needs those.
func (f Form) with(g Form) (Form, error) {
	switch {
	case f.partial:
		return g, nil
	case g.partial:
		return f, nil // f reads more than g needs
	case f.loose && !g.loose:
		return g.withLoose(f), nil
	case g.loose && !f.loose:
		return f.withLoose(g), nil
	}
	list, other := f.newList(), g.newList()
	if f.acceptList != g.acceptList || reflect.TypeOf(list) != reflect.TypeOf(other) {
		return f, fmt.Errorf("one asks for a %T as %s, the other for a %T as %s; give both the same Form",
			list, f.acceptList, other, g.acceptList)
	}
	f.unread = slices.DeleteFunc(slices.Clone(f.unread), func(path string) bool { return !slices.Contains(g.unread, path) })
	return f, nil
}

func serializerOf(add func(*runtime.Scheme) error) func() (runtime.NegotiatedSerializer, error) {
	return func() (runtime.NegotiatedSerializer, error) {
		scheme := runtime.NewScheme()
		metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
		if err := add(scheme); err != nil {
			return nil, err
		}
		return serializer.NewCodecFactory(scheme).WithoutConversion(), nil
	}
}
