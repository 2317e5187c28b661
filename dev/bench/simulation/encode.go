package simulation

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// message is what each generated API type has.
type message interface {
	Marshal() ([]byte, error)
	Size() int
}

// protobufPrefix begins each object that Kubernetes encodes as protobuf.
const protobufPrefix = "k8s\x00"

// appendFrame appends an event of a watch in protobuf, with its length before it.
func appendFrame(to []byte, event string, kind runtime.TypeMeta, object message) ([]byte, error) {
	raw, err := object.Marshal()
	if err != nil {
		return nil, err
	}
	unknown, err := (&runtime.Unknown{TypeMeta: kind, Raw: raw}).Marshal()
	if err != nil {
		return nil, err
	}
	frame, err := (&metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: append([]byte(protobufPrefix), unknown...)}}).Marshal()
	return append(binary.BigEndian.AppendUint32(to, uint32(len(frame))), frame...), err
}

// appendListHead appends the beginning of a list in protobuf whose items, with their tags, take
// this many bytes.
func appendListHead(to []byte, kind runtime.TypeMeta, meta metav1.ListMeta, items int) ([]byte, error) {
	kind.Kind += "List"
	encodedKind, err := kind.Marshal()
	if err != nil {
		return nil, err
	}
	encoded, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	size := protowire.SizeTag(1) + protowire.SizeBytes(len(encoded)) + items
	to = append(to, protobufPrefix...)
	to = protowire.AppendBytes(protowire.AppendTag(to, 1, protowire.BytesType), encodedKind)
	to = protowire.AppendVarint(protowire.AppendTag(to, 2, protowire.BytesType), uint64(size))
	return protowire.AppendBytes(protowire.AppendTag(to, 1, protowire.BytesType), encoded), nil
}

// appendItem appends an object of a list.
func appendItem(to []byte, object message) ([]byte, error) {
	encoded, err := object.Marshal()
	return protowire.AppendBytes(protowire.AppendTag(to, 2, protowire.BytesType), encoded), err
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
