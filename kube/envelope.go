package kube

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// frameLimit is the greatest size of a frame that is believed. Objects are smaller than
// 2 MB, because etcd takes no larger ones.
const frameLimit = 16 << 20

// protobufPrefix begins each object that Kubernetes encodes as protobuf; what follows is a
// runtime.Unknown (k8s.io/apimachinery/pkg/runtime/generated.proto).
const protobufPrefix = "k8s\x00"

// events reads the events of a watch in protobuf: frames of a metav1.WatchEvent each,
// preceded by their length. It does what client-go's decoder does, but opens the two
// envelopes around an object in place, where client-go copies the object twice.
type events struct {
	body io.ReadCloser
	// object is the Go type of the objects of the watch.
	object reflect.Type
	// unread are the fields of objects that nobody reads.
	unread unread
	// spares are objects to decode into.
	spares *spares
	// other decodes what is no such object: the status that ends a watch.
	other runtime.Decoder

	frame []byte // the last one
}

var _ watch.Decoder = (*events)(nil)

// unmarshaler is what each generated API type has.
type unmarshaler interface {
	runtime.Object
	Unmarshal([]byte) error
}

// newEvents returns the events in a body, whose objects have the form.
func newEvents(body io.ReadCloser, form Form, other runtime.Decoder) (*events, error) {
	list := form.newList()
	items, ok := reflect.TypeOf(list).Elem().FieldByName("Items")
	if !ok {
		return nil, fmt.Errorf("%T is no list: it has no Items", list)
	}
	object := items.Type.Elem()
	if _, ok := reflect.New(object).Interface().(unmarshaler); !ok {
		return nil, fmt.Errorf("%s can't be decoded from protobuf", object)
	}
	fields, err := unreadOf(object, form.unread)
	return &events{body: body, object: object, unread: fields, spares: form.spares, other: other}, err
}

// Close implements watch.Decoder.
func (e *events) Close() { _ = e.body.Close() }

// Decode implements watch.Decoder.
func (e *events) Decode() (watch.EventType, runtime.Object, error) {
	if err := e.next(); err != nil {
		return "", nil, err
	}
	kind, encoded, err := openEvent(e.frame)
	if err != nil {
		return "", nil, fmt.Errorf("decode watch event: %w", err)
	}
	object, err := e.open(watch.EventType(kind), encoded)
	if err != nil {
		return "", nil, fmt.Errorf("decode object of watch event %s: %w", kind, err)
	}
	return watch.EventType(kind), object, nil
}

// next reads the next frame.
func (e *events) next() error {
	var length [4]byte
	if _, err := io.ReadFull(e.body, length[:]); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n > frameLimit {
		return fmt.Errorf("read watch event: %d bytes is more than any object has", n)
	}
	if n > cap(e.frame) {
		e.frame = make([]byte, n, n+n/2)
	}
	e.frame = e.frame[:n]
	_, err := io.ReadFull(e.body, e.frame)
	return err
}

// open decodes the object of an event, which keeps nothing of the frame.
func (e *events) open(kind watch.EventType, encoded []byte) (runtime.Object, error) {
	if kind != watch.Added && kind != watch.Modified && kind != watch.Deleted && kind != watch.Bookmark {
		return runtime.Decode(e.other, encoded)
	}
	raw, err := openUnknown(encoded)
	if err != nil {
		return nil, err
	}
	if raw, err = e.unread.prune(raw); err != nil {
		return nil, err
	}
	object := e.spares.take()
	if object == nil {
		object = reflect.New(e.object).Interface().(unmarshaler)
	}
	return object, object.Unmarshal(raw)
}

var errTruncated = errors.New("the protobuf is cut off or malformed")

// openEvent returns the type and the object in an encoded metav1.WatchEvent.
func openEvent(message []byte) (kind string, object []byte, err error) {
	err = eachField(message, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			kind = string(value)
		case 2: // a runtime.RawExtension
			return eachField(value, func(number protowire.Number, value []byte) error {
				if number == 1 {
					object = value
				}
				return nil
			})
		}
		return nil
	})
	return kind, object, err
}

// openUnknown returns the object in an encoded runtime.Unknown.
func openUnknown(message []byte) (object []byte, err error) {
	if len(message) < len(protobufPrefix) || string(message[:len(protobufPrefix)]) != protobufPrefix {
		return nil, errors.New("this is no Kubernetes protobuf")
	}
	err = eachField(message[len(protobufPrefix):], func(number protowire.Number, value []byte) error {
		switch {
		case number == 2:
			object = value
		case number == 3 && len(value) > 0:
			return fmt.Errorf("unknown content encoding %q", value)
		}
		return nil
	})
	return object, err
}

// eachField calls f with each field of a message that has a length; all that the envelopes
// have are of that kind.
func eachField(message []byte, f func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, wireType, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errTruncated
		}
		message = message[n:]
		if wireType != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, wireType, message); n < 0 {
				return errTruncated
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return errTruncated
		}
		if err := f(number, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
