package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Unstructured is the form for kinds without a Go type: those of other projects, and those that a user names.
// The objects are *unstructured.Unstructured, of any shape, so that each object decodes. Trim reads the few
// fields that it needs, with [Fields] or one by one.
//
// Tables of this form share the watch of a resource with tables of other forms. Objects are then converted:
// built-in kinds come as protobuf and are made unstructured; custom resources come unstructured and are
// converted to the Go type of the other form.
func Unstructured() Form {
	return Form{
		newList:    func() runtime.Object { return &unstructured.UnstructuredList{} },
		loose:      true,
		acceptList: jsonType, acceptWatch: jsonType,
		serializer: func() (runtime.NegotiatedSerializer, error) {
			return dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer, nil
		},
	}
}

// Fields fills a struct from the fields of an object with the same JSON names; other fields are not read. It
// returns an error if a field has another type in the object; the struct must not be used then. The struct
// shares only strings with the object.
func Fields(u *unstructured.Unstructured, into any) error {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), fieldError(u, into, err))
}

// fieldError returns an error that names the unreadable field, because err doesn't.
func fieldError(u *unstructured.Unstructured, into any, err error) error {
	text, jsonErr := json.Marshal(u.Object)
	if jsonErr != nil {
		return err
	}
	mismatch := &json.UnmarshalTypeError{}
	if !errors.As(json.Unmarshal(text, into), &mismatch) {
		return err
	}
	return fmt.Errorf("field %s has a JSON %s, which is not its type; see the definition of the kind",
		strings.TrimPrefix(mismatch.Field, "."), mismatch.Value)
}

// withLoose returns a form that serves kinds of this form, which isn't loose, and of a loose one.
func (f Form) withLoose(loose Form) Form {
	if !f.protobuf() {
		return loose // the Go types of custom resources lack fields
	}
	f.unread = managedFields
	return f
}

// object converts an object of the resource to this form. Objects come in another form if tables of several
// forms share a watch.
func (f Form) object(obj runtime.Object, r schema.GroupVersionResource) (runtime.Object, error) {
	u, loose := obj.(*unstructured.Unstructured)
	if loose == f.loose || f.partial {
		return obj, nil
	}
	if loose {
		return f.typed(u)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("make %T unstructured: %w", obj, err)
	}
	u = &unstructured.Unstructured{Object: fields}
	// Objects in protobuf don't carry their kind.
	u.SetGroupVersionKind(r.GroupVersion().WithKind(reflect.TypeOf(obj).Elem().Name()))
	return u, nil
}

// typed returns an object as the Go type of the form.
func (f Form) typed(u *unstructured.Unstructured) (runtime.Object, error) {
	item, err := f.item()
	if err != nil {
		return nil, err
	}
	obj, ok := reflect.New(item).Interface().(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("%s is no API object", item)
	}
	return obj, Fields(u, obj)
}
