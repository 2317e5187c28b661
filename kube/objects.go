package kube

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// unmarshaler is implemented by each generated API type.
type unmarshaler interface {
	runtime.Object
	Unmarshal([]byte) error
}

// objects decodes the objects of a resource.
type objects struct {
	// object is the Go type of the objects.
	object reflect.Type
	// unread are the fields that are not decoded.
	unread unread
}

func newObjects(f Form) (*objects, error) {
	object, err := f.item()
	if err != nil {
		return nil, err
	}
	if _, ok := reflect.New(object).Interface().(unmarshaler); !ok {
		return nil, fmt.Errorf("%s can't be decoded from protobuf", object)
	}
	fields, err := unreadOf(object, f.unread)
	return &objects{object: object, unread: fields}, err
}

// decode decodes an object. It overwrites the message.
func (o *objects) decode(message []byte) (runtime.Object, error) {
	message, err := o.unread.prune(message)
	if err != nil {
		return nil, err
	}
	object := reflect.New(o.object).Interface().(unmarshaler)
	return object, object.Unmarshal(message)
}
