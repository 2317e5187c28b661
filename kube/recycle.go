package kube

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Recycled returns the form for kinds whose Trim keeps nothing of an object but strings: the
// watch decodes each object into the memory of the one before. The function
// empty makes an object what a new one is, but for lists and maps that it may leave it,
// empty, to be filled again. It is for a Form that is made by [Protobuf]; where kinds that
// are not recycled share the watch, none is.
func (f Form) Recycled(empty func(runtime.Object)) Form {
	f.empty = empty
	return f
}

// unmarshaler is what each generated API type has.
type unmarshaler interface {
	runtime.Object
	Unmarshal([]byte) error
}

// objects decodes the objects of one watch; it belongs to the goroutine of the watch.
type objects struct {
	// object is the Go type of the objects.
	object reflect.Type
	// unread are the fields of objects that nobody reads.
	unread unread
	// empty is nil when objects are not recycled, spare when there is none to recycle.
	empty func(runtime.Object)
	spare unmarshaler
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
	return &objects{object: object, unread: fields, empty: f.empty}, err
}

// decode decodes an object, and spoils the message.
func (o *objects) decode(message []byte) (runtime.Object, error) {
	message, err := o.unread.prune(message)
	if err != nil {
		return nil, err
	}
	object := o.spare
	o.spare = nil
	if object == nil {
		object = reflect.New(o.object).Interface().(unmarshaler)
	}
	return object, object.Unmarshal(message)
}

// recycle takes an object that was decoded and that nobody looks at any more.
func (o *objects) recycle(object runtime.Object) {
	if o.empty == nil {
		return
	}
	o.empty(object)
	o.spare = object.(unmarshaler)
}
