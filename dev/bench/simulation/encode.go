package simulation

import (
	"encoding/binary"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// message is what each generated API type has.
type message interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// kindOfObject is what an API server says about the kind of an object in protobuf.
type kindOfObject struct{ apiVersion, kind string }

// appendFrame appends an event of a watch in protobuf, with its length before it.
func appendFrame(to []byte, event string, kind kindOfObject, object message) ([]byte, error) {
	size := object.Size()
	meta := typeMeta(kind)
	unknown := protowire.SizeTag(1) + protowire.SizeBytes(len(meta)) + protowire.SizeTag(2) + protowire.SizeBytes(size)
	raw := len(protobufPrefix) + unknown
	extension := protowire.SizeTag(1) + protowire.SizeBytes(raw)
	frame := protowire.SizeTag(1) + protowire.SizeBytes(len(event)) + protowire.SizeTag(2) + protowire.SizeBytes(extension)
	to = slices.Grow(to, 4+frame)
	to = binary.BigEndian.AppendUint32(to, uint32(frame))
	to = protowire.AppendString(protowire.AppendTag(to, 1, protowire.BytesType), event)
	to = protowire.AppendVarint(protowire.AppendTag(to, 2, protowire.BytesType), uint64(extension))
	to = protowire.AppendVarint(protowire.AppendTag(to, 1, protowire.BytesType), uint64(raw))
	to = append(to, protobufPrefix...)
	to = protowire.AppendBytes(protowire.AppendTag(to, 1, protowire.BytesType), meta)
	to = protowire.AppendVarint(protowire.AppendTag(to, 2, protowire.BytesType), uint64(size))
	return appendMessage(to, object, size)
}

// protobufPrefix begins each object that Kubernetes encodes as protobuf.
const protobufPrefix = "k8s\x00"

// typeMeta returns the kind as the first field of a runtime.Unknown.
func typeMeta(k kindOfObject) []byte {
	b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), k.apiVersion)
	return protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), k.kind)
}

// appendMessage appends an encoded object of a known size.
func appendMessage(to []byte, object message, size int) ([]byte, error) {
	begin := len(to)
	to = slices.Grow(to, size)[:begin+size]
	n, err := object.MarshalToSizedBuffer(to[begin:])
	if err == nil && n != size {
		err = fmt.Errorf("it took %d bytes and not %d", n, size)
	}
	return to, err
}

// appendListHead appends the beginning of a list in protobuf whose items, with their tags, take
// this many bytes.
func appendListHead(to []byte, kind kindOfObject, meta metav1.ListMeta, items int) ([]byte, error) {
	encoded, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	size := protowire.SizeTag(1) + protowire.SizeBytes(len(encoded)) + items
	to = append(to, protobufPrefix...)
	to = protowire.AppendBytes(protowire.AppendTag(to, 1, protowire.BytesType), typeMeta(kindOfObject{kind.apiVersion, kind.kind + "List"}))
	to = protowire.AppendVarint(protowire.AppendTag(to, 2, protowire.BytesType), uint64(size))
	return protowire.AppendBytes(protowire.AppendTag(to, 1, protowire.BytesType), encoded), nil
}

// appendItem appends an object of a list.
func appendItem(to []byte, object message) ([]byte, error) {
	size := object.Size()
	to = protowire.AppendVarint(protowire.AppendTag(to, 2, protowire.BytesType), uint64(size))
	return appendMessage(to, object, size)
}

// itemSize returns how many bytes an object of a list takes.
func itemSize(object message) int { return protowire.SizeTag(2) + protowire.SizeBytes(object.Size()) }

// bookmark returns the object of a bookmark, which a client takes for one of any kind.
func bookmark(version int, initial bool) *metav1.PartialObjectMetadata {
	b := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(version)}}
	if initial {
		b.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return b
}

// jsonBookmark returns an event with a bookmark for a resource that is read as JSON.
func jsonBookmark(r collection, version int, initial bool) []byte {
	annotations := ""
	if initial {
		annotations = fmt.Sprintf(`,"annotations":{%q:"true"}`, metav1.InitialEventsAnnotationKey)
	}
	return fmt.Appendf(nil, `{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"%d"%s}}}`+"\n",
		r.GroupVersion(), simulatedKinds[r.Resource], version, annotations)
}
