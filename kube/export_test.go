package kube

import (
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// Marshaler is what each generated API type is.
type Marshaler interface {
	runtime.Object
	Marshal() ([]byte, error)
}

// TrimWhole returns what a kind keeps of an object that came with all of its fields.
func TrimWhole[T any](k Kind[T], object Marshaler) (*T, []Problem, error) {
	message, err := object.Marshal()
	if err != nil {
		return nil, nil, err
	}
	return trimEncoded(k, object, message)
}

// TrimPruned does so for one that came without the fields that the kind doesn't read.
func TrimPruned[T any](k Kind[T], object Marshaler) (*T, []Problem, error) {
	fields, err := unreadOf(reflect.TypeOf(object), k.Form.unread)
	if err != nil {
		return nil, nil, err
	}
	message, err := object.Marshal()
	if err != nil {
		return nil, nil, err
	}
	whole := len(message)
	if message, err = fields.prune(message); err != nil {
		return nil, nil, err
	}
	if len(message) == whole {
		return nil, nil, errors.New("nothing was taken out: the object is no good for a test")
	}
	return trimEncoded(k, object, message)
}

func trimEncoded[T any](k Kind[T], like Marshaler, message []byte) (*T, []Problem, error) {
	object := reflect.New(reflect.TypeOf(like).Elem()).Interface().(unmarshaler)
	if err := object.Unmarshal(message); err != nil {
		return nil, nil, err
	}
	kept, problems := k.Trim(Scope{}, object)
	return kept, problems, nil
}
