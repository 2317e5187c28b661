package kube

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Recycled returns the form for kinds whose Trim keeps nothing of an object but strings. The
// watch then decodes each object into the memory of the one before. The function empty resets
// an object; it may leave it empty lists and maps with their memory. It is for a Form made by
// [Protobuf]. It has no effect when a kind that isn't recycled shares the watch.
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

// decode decodes an object. It overwrites the message.
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

// recycle takes back a decoded object that nobody uses any more.
func (o *objects) recycle(object runtime.Object) {
	if o.empty == nil {
		return
	}
	o.empty(object)
	o.spare = object.(unmarshaler)
}
