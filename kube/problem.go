package kube

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Problem says that an object, or a part of it, can't be used. The rest of the object stays in
// use.
type Problem struct {
	// Field is the path of the field concerned, such as "endpoints[3].addresses[0]"; empty
	// for the whole object.
	Field string
	// Reason says what is wrong and what is allowed, in one sentence without a full stop.
	Reason string
}

// Of names an object that has a [Problem].
type Of struct {
	// Kind, Namespace and Name are those of the object, as a user would type them.
	Kind, Namespace, Name string
	// UID is metadata.uid; empty when it isn't known.
	UID string
}

// Report takes the problems of objects. It is called from many goroutines, with the same
// problem for each version of an object that has it, and must not block.
type Report func(Of, Problem)

// objectOf names an object of a resource.
func objectOf(obj runtime.Object, r schema.GroupVersionResource) Of {
	of := Of{Kind: obj.GetObjectKind().GroupVersionKind().Kind}
	if goType := reflect.TypeOf(obj).Elem(); of.Kind == "" || goType == metadataOnly {
		of.Kind = kindName(goType, r)
	}
	if m, err := meta.Accessor(obj); err == nil {
		of.Namespace, of.Name, of.UID = m.GetNamespace(), m.GetName(), string(m.GetUID())
	}
	return of
}

// messageOf names an object of a resource that comes in protobuf, in a form.
func messageOf(f Form, r schema.GroupVersionResource, message []byte) Of {
	var of Of
	if item, err := f.item(); err == nil {
		of.Kind = kindName(item, r)
	}
	if m, err := readMetadata(message); err == nil {
		of.Namespace, of.Name, of.UID = string(m.namespace), string(m.name), string(m.uid)
	}
	return of
}

// metadataOnly is the Go type of the objects of all kinds that come without anything but
// their metadata.
var metadataOnly = reflect.TypeFor[metav1.PartialObjectMetadata]()

// kindName returns the name of a kind by its Go type: objects in protobuf don't have it. Where
// the Go type doesn't tell, it returns the name of the resource, such as "nodes".
func kindName(goType reflect.Type, r schema.GroupVersionResource) string {
	if goType == metadataOnly {
		return r.Resource
	}
	return goType.Name()
}
