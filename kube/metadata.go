package kube

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Field numbers of object metadata, from the tags of the API types. Times are encoded as metav1.Timestamp.
var (
	metadataField = numberOf[metav1.PartialObjectMetadata]("metadata")

	nameField            = numberOf[metav1.ObjectMeta]("name")
	namespaceField       = numberOf[metav1.ObjectMeta]("namespace")
	uidField             = numberOf[metav1.ObjectMeta]("uid")
	resourceVersionField = numberOf[metav1.ObjectMeta]("resourceVersion")
	managedFieldsField   = numberOf[metav1.ObjectMeta]("managedFields")

	operationField = numberOf[metav1.ManagedFieldsEntry]("operation")
	timeField      = numberOf[metav1.ManagedFieldsEntry]("time")

	secondsField = numberOf[metav1.Timestamp]("seconds")
)

// numberOf returns the field number of an API type's field, by the name in its protobuf tag.
func numberOf[T any](name string) protowire.Number {
	number, _, err := protobufField(reflect.TypeFor[T](), name)
	if err != nil {
		panic(err) // only for package variables, independent of input
	}
	return number
}

// messageMeta is what is read of the metadata of every object in protobuf. Its slices are parts of the
// message.
type messageMeta struct {
	namespace, name, uid, version []byte
	// metadata is the message of the metadata.
	metadata []byte
}

func readMetadata(object []byte) (m messageMeta, err error) {
	f := fields{rest: object}
	for f.next(protowire.BytesType) {
		if f.number != metadataField {
			continue
		}
		if err := m.read(f.bytes); err != nil {
			return m, err
		}
	}
	return m, f.err
}

func (m *messageMeta) read(metadata []byte) error {
	m.metadata = metadata
	f := fields{rest: metadata}
	for f.next(protowire.BytesType) {
		switch f.number {
		case nameField:
			m.name = f.bytes
		case namespaceField:
			m.namespace = f.bytes
		case uidField:
			m.uid = f.bytes
		case resourceVersionField:
			m.version = f.bytes
		}
	}
	return f.err
}

// newestUpdate is the function newestUpdate, for an object in protobuf.
func (m *messageMeta) newestUpdate() (newest int64, err error) {
	f := fields{rest: m.metadata}
	for f.next(protowire.BytesType) {
		if f.number != managedFieldsField {
			continue
		}
		updated, err := updateOf(f.bytes)
		if err != nil {
			return 0, fmt.Errorf("managed fields: %w", err)
		}
		newest = max(newest, updated)
	}
	return newest, f.err
}

// updateOf returns the time of an entry of the managed fields, in Unix seconds; zero unless its operation is
// Update.
func updateOf(entry []byte) (updated int64, err error) {
	var operation, time []byte
	f := fields{rest: entry}
	for f.next(protowire.BytesType) {
		switch f.number {
		case operationField:
			operation = f.bytes
		case timeField:
			time = f.bytes
		}
	}
	if f.err != nil || string(operation) != string(metav1.ManagedFieldsOperationUpdate) {
		return 0, f.err
	}
	t := fields{rest: time}
	for t.next(protowire.VarintType) {
		if t.number == secondsField {
			updated = int64(t.varint)
		}
	}
	return updated, t.err
}
