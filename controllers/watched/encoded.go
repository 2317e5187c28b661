package watched

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/internal/wire"
	"github.com/signpostd/signpost/kube"
)

// Encoded is an object, an O, as the API server sent it, without managed fields. Most objects that a
// controller writes come back unchanged and are never read, and decoded they take five times the memory.
// Encoded is immutable.
type Encoded[O any, P encodable[O]] struct {
	namespace, name, version string
	uid                      types.UID
	changedBy                string
	// fields holds the fields of the metadata, in the first n bytes, and then those of the object.
	fields []byte
	n      int
}

// encodable is implemented by each generated API type.
type encodable[O any] interface {
	*O
	runtime.Object
	metav1.Object
	metav1.ObjectMetaAccessor
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// GetNamespace returns the namespace of the object.
func (e *Encoded[O, P]) GetNamespace() string { return e.namespace }

// GetName returns the name of the object.
func (e *Encoded[O, P]) GetName() string { return e.name }

// GetUID returns the UID of the object.
func (e *Encoded[O, P]) GetUID() types.UID { return e.uid }

// GetResourceVersion returns the version of the object.
func (e *Encoded[O, P]) GetResourceVersion() string { return e.version }

// ChangedBy returns the field manager, other than Signpost, that changed the object last; empty if there is
// none.
func (e *Encoded[O, P]) ChangedBy() string { return e.changedBy }

// Object decodes the object, anew on each call. Undecodable parts are left out, so that the controller finds
// them missing and writes the object again.
func (e *Encoded[O, P]) Object() P {
	object := P(new(O))
	if object.Unmarshal(e.fields[e.n:]) != nil {
		object = P(new(O))
	}
	if m, ok := object.GetObjectMeta().(*metav1.ObjectMeta); ok && m.Unmarshal(e.fields[:e.n]) != nil {
		*m = metav1.ObjectMeta{}
	}
	object.SetNamespace(e.namespace)
	object.SetName(e.name)
	object.SetUID(e.uid)
	object.SetResourceVersion(e.version)
	return object
}

// sameVersion reports whether two values are the same version of an object.
func (e *Encoded[O, P]) sameVersion(o *Encoded[O, P]) bool {
	return e.version == o.version && e.uid == o.uid
}

// read reads an object in protobuf. It calls visit with the deletion timestamp of the metadata, if there is
// one, and with each label.
func (e *Encoded[O, P]) read(s kube.Scope, message []byte, visit func(number int, field []byte) error) (err error) {
	if e.fields, err = wire.AppendMetadata(make([]byte, 0, len(message)), message); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	e.n = len(e.fields)
	if err := e.readMetadata(s, visit); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	e.readManagers(s, message)
	e.fields, err = wire.AppendWithout(e.fields, message, wire.Metadata)
	return err
}

// ownManager is the field manager of Signpost's writes.
const ownManager = "signpost"

// The fields that are read of the managed fields.
var (
	managedFields = wire.FieldsOf[metav1.ObjectMeta]("managedFields")
	entryManager  = wire.NumberOf[metav1.ManagedFieldsEntry]("manager")
	entryTime     = wire.NumberOf[metav1.ManagedFieldsEntry]("time")
	entryFields   = wire.FieldsOf[metav1.ManagedFieldsEntry]("manager", "time")
)

// readManagers finds the field manager that changed the object last. Unreadable entries are skipped, because
// only messages depend on the result.
func (e *Encoded[O, P]) readManagers(s kube.Scope, message []byte) {
	var newest time.Time
	object := wire.Read(message)
	for object.Next(wire.Fields{Bytes: 1 << wire.Metadata}) {
		metadata := wire.Read(object.Bytes())
		for metadata.Next(managedFields) {
			manager, at := readEntry(metadata.Bytes())
			if !at.Before(newest) && len(manager) > 0 && string(manager) != ownManager {
				newest, e.changedBy = at, s.InternBytes(manager)
			}
		}
	}
}

// readEntry reads the manager and the time of an entry of the managed fields.
func readEntry(entry []byte) (manager []byte, at time.Time) {
	r := wire.Read(entry)
	for r.Next(entryFields) {
		switch r.Number {
		case entryManager:
			manager = r.Bytes()
		case entryTime:
			at, _ = readTime(r.Bytes())
		}
	}
	return manager, at
}

// timeFields are the fields that are read of a metav1.Time, which is encoded as a metav1.Timestamp.
var timeFields = wire.FieldsOf[metav1.Timestamp]("seconds")

// readTime returns the time in a metav1.Time. An empty message is the zero time.
func readTime(message []byte) (time.Time, error) {
	if len(message) == 0 {
		return time.Time{}, nil
	}
	var seconds int64
	r := wire.Read(message)
	for r.Next(timeFields) {
		seconds = int64(r.Varint)
	}
	return time.Unix(seconds, 0), r.Err()
}

var encodedMetadata = wire.Fields{
	Bytes: 1<<wire.MetadataNamespace | 1<<wire.MetadataName | 1<<wire.MetadataUID | 1<<wire.MetadataResourceVersion |
		1<<wire.MetadataDeletionTimestamp | 1<<wire.MetadataLabels,
}

// readMetadata reads the metadata, which must be all that fields holds yet.
func (e *Encoded[O, P]) readMetadata(s kube.Scope, visit func(number int, field []byte) error) error {
	r := wire.Read(e.fields)
	for r.Next(encodedMetadata) {
		switch r.Number {
		case wire.MetadataNamespace:
			e.namespace = s.InternBytes(r.Bytes())
		case wire.MetadataName:
			e.name = string(r.Bytes())
		case wire.MetadataUID:
			e.uid = types.UID(r.Bytes())
		case wire.MetadataResourceVersion:
			e.version = string(r.Bytes())
		default:
			if err := visit(r.Number, r.Bytes()); err != nil {
				return err
			}
		}
	}
	return r.Err()
}
