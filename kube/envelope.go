package kube

import (
	"encoding/binary"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/signpostd/signpost/internal/wire"
)

// frameLimit bounds the size of a frame. Objects are smaller than 2 MB, because etcd takes no larger ones.
const frameLimit = 16 << 20

// frameKept bounds the frame buffer that is kept for reuse. Few objects need a larger one.
const frameKept = 256 << 10

// events decodes the events of a watch in protobuf. Each frame is a metav1.WatchEvent, preceded by its
// length. client-go copies the object for each of the two envelopes around it. events opens the envelopes in
// place and turns the object into an [entry] at once, so that only what tables keep is allocated.
type events struct {
	body    io.ReadCloser
	entries *entries
	// objects decodes objects for tables without Kind.Read.
	objects *objects
	// other decodes the status that ends a watch.
	other runtime.Decoder

	frame []byte // of the last event
}

var _ watch.Decoder = (*events)(nil)

func newEvents(body io.ReadCloser, e *entries, other runtime.Decoder) (*events, error) {
	objects, err := newObjects(e.feed.form)
	return &events{body: body, entries: e, objects: objects, other: other}, err
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
	object, err := e.open(kind, encoded)
	if err != nil {
		return "", nil, fmt.Errorf("decode object of watch event %s: %w", kind, err)
	}
	return kind, object, nil
}

// next reads the next frame.
func (e *events) next() error {
	var length [4]byte
	if _, err := io.ReadFull(e.body, length[:]); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n > frameLimit {
		return fmt.Errorf("read watch event: its length, %d bytes, is more than any object has", n)
	}
	if n > cap(e.frame) || cap(e.frame) > frameKept {
		e.frame = make([]byte, n, n+n/2)
	}
	e.frame = e.frame[:n]
	_, err := io.ReadFull(e.body, e.frame)
	return err
}

// open returns the object of an event. The object doesn't refer to the frame.
func (e *events) open(kind watch.EventType, encoded []byte) (runtime.Object, error) {
	if kind != watch.Added && kind != watch.Modified && kind != watch.Deleted && kind != watch.Bookmark {
		return runtime.Decode(e.other, encoded)
	}
	message, err := unwrap(encoded)
	if err != nil {
		return nil, err
	}
	switch kind {
	case watch.Bookmark:
		return e.objects.decode(message)
	case watch.Deleted:
		gone, _, err := e.entries.header(message)
		return gone, err
	default:
		return e.entries.read(message, e.objects)
	}
}

// Field numbers of metav1.WatchEvent, and of the runtime.RawExtension that holds its object.
const (
	eventType   = 1
	eventObject = 2

	extensionRaw = 1
)

// openEvent returns the type and the object of an encoded metav1.WatchEvent.
func openEvent(message []byte) (kind watch.EventType, object []byte, err error) {
	event := wire.Read(message)
	for event.Next(wire.Fields{Bytes: 1<<eventType | 1<<eventObject}) {
		if event.Number == eventType {
			kind = kindOf(event.Bytes())
			continue
		}
		extension := wire.Read(event.Bytes())
		for extension.Next(wire.Fields{Bytes: 1 << extensionRaw}) {
			object = extension.Bytes()
		}
		if extension.Err() != nil {
			return "", nil, extension.Err()
		}
	}
	return kind, object, event.Err()
}

// kindOf returns the type of an event, without allocating for the usual types.
func kindOf(text []byte) watch.EventType {
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
		if string(text) == string(kind) {
			return kind
		}
	}
	return watch.EventType(text)
}
