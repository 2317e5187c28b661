package kube

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Recycled returns the form for kinds whose Trim keeps nothing of an object but strings. The watch then
// decodes each object into the memory of the previous one. The function empty resets an object; it may keep
// the memory of emptied lists and maps. The Form must be made by [Protobuf]. Recycled has no effect if a kind
// that isn't recycled shares the watch.
func (f Form) Recycled(empty func(runtime.Object)) Form {
	f.empty = empty
	return f
}

// unmarshaler is implemented by each generated API type.
type unmarshaler interface {
	runtime.Object
	Unmarshal([]byte) error
}

// objects decodes the objects of one watch. Only the goroutine of the watch uses it.
type objects struct {
	// object is the Go type of the objects.
	object reflect.Type
	// unread are the fields that are not decoded.
	unread unread
	// empty is nil if objects are not recycled. spare is nil if there is no object to reuse.
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

// recycle takes back a decoded object that is no longer used.
func (o *objects) recycle(object runtime.Object) {
	if o.empty == nil {
		return
	}
	o.empty(object)
	o.spare = object.(unmarshaler)
}
