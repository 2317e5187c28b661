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

// Unstructured is the form for kinds without a Go type: those of other projects, and
// those that a user names. The objects are *unstructured.Unstructured, of any shape, so
// no object fails to decode. Trim reads the few fields that it needs, with [Fields] or one
// by one.
//
// A table of this form shares the watch of a resource with tables of other forms, at the
// cost of a conversion: built-in kinds come as protobuf and are made unstructured, custom
// resources come unstructured and are made what the other form says.
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

// Fields fills a struct, whose fields have the JSON names of those of an object, and
// returns an error when one of them has another type in the object; the struct is then
// not to be used. What the struct has no field for is not looked at. The struct shares
// nothing with the object but strings.
func Fields(u *unstructured.Unstructured, into any) error {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
	if err == nil {
		return nil
	}
	return fmt.Errorf("read %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), fieldError(u, into, err))
}

// fieldError returns an error that names the field that can't be read, which the one
// given doesn't.
func fieldError(u *unstructured.Unstructured, into any, err error) error {
	text, jsonErr := json.Marshal(u.Object)
	if jsonErr != nil {
		return err
	}
	mismatch := &json.UnmarshalTypeError{}
	if !errors.As(json.Unmarshal(text, into), &mismatch) {
		return err
	}
	return fmt.Errorf("field %s has a JSON %s where there has to be something else; see the definition of the kind",
		strings.TrimPrefix(mismatch.Field, "."), mismatch.Value)
}

// withLoose returns the form that serves kinds of this form, which is not loose, and of
// one that is.
func (f Form) withLoose(loose Form) Form {
	if !f.protobuf() {
		return loose // the Go types of custom resources don't have all fields
	}
	f.unread = managedFields
	return f
}

// object returns an object of the resource in this form: it comes in another one when
// tables of several forms share a watch.
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
	// Objects in protobuf don't say of which kind they are.
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
