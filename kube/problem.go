package kube

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// Problem says that a part of an object can't be used, or all of it. It costs only what it
// names; the rest of the object stays in use.
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

// Report takes the problems of objects. It is called from many goroutines, and with the same
// problem for each version of an object that has it; it must not block.
type Report func(Of, Problem)

// objectOf names an object.
func objectOf(obj runtime.Object) Of {
	of := Of{Kind: obj.GetObjectKind().GroupVersionKind().Kind}
	// Objects in protobuf don't say of which kind they are.
	if of.Kind == "" {
		of.Kind = reflect.TypeOf(obj).Elem().Name()
	}
	if m, err := meta.Accessor(obj); err == nil {
		of.Namespace, of.Name, of.UID = m.GetNamespace(), m.GetName(), string(m.GetUID())
	}
	return of
}

// messageOf names an object that comes in protobuf, of a form.
func messageOf(f Form, message []byte) Of {
	m, err := readMetadata(message)
	if err != nil {
		return Of{}
	}
	of := Of{Namespace: string(m.namespace), Name: string(m.name), UID: string(m.uid)}
	if item, err := f.item(); err == nil {
		of.Kind = item.Name()
	}
	return of
}
