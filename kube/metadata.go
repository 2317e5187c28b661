package kube

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/internal/wire"
)

// The fields that are read of the metadata of an object, and of its managed fields. Times are encoded as
// metav1.Timestamp.
var (
	namingFields = wire.Fields{
		Bytes: 1<<wire.MetadataName | 1<<wire.MetadataNamespace | 1<<wire.MetadataUID | 1<<wire.MetadataResourceVersion,
	}
	entryOperation = wire.NumberOf[metav1.ManagedFieldsEntry]("operation")
	entryFields    = wire.FieldsOf[metav1.ManagedFieldsEntry]("operation", "time")
	secondsField   = wire.FieldsOf[metav1.Timestamp]("seconds")
)

// messageMeta is what is read of the metadata of every object in protobuf. Its slices are parts of the
// message.
type messageMeta struct {
	namespace, name, uid, version []byte
	// metadata is the message of the metadata.
	metadata []byte
}

func readMetadata(object []byte) (m messageMeta, err error) {
	r := wire.Read(object)
	for r.Next(wire.Fields{Bytes: 1 << wire.Metadata}) {
		if err := m.read(r.Bytes()); err != nil {
			return m, err
		}
	}
	return m, r.Err()
}

func (m *messageMeta) read(metadata []byte) error {
	m.metadata = metadata
	r := wire.Read(metadata)
	for r.Next(namingFields) {
		switch r.Number {
		case wire.MetadataName:
			m.name = r.Bytes()
		case wire.MetadataNamespace:
			m.namespace = r.Bytes()
		case wire.MetadataUID:
			m.uid = r.Bytes()
		case wire.MetadataResourceVersion:
			m.version = r.Bytes()
		}
	}
	return r.Err()
}

// newestUpdate is the function newestUpdate, for an object in protobuf.
func (m *messageMeta) newestUpdate() (newest int64, err error) {
	r := wire.Read(m.metadata)
	for r.Next(wire.Fields{Bytes: 1 << wire.MetadataManagedFields}) {
		updated, err := updateOf(r.Bytes())
		if err != nil {
			return 0, fmt.Errorf("managed fields: %w", err)
		}
		newest = max(newest, updated)
	}
	return newest, r.Err()
}

// updateOf returns the time of an Update in the managed fields, in Unix seconds, or zero.
func updateOf(entry []byte) (updated int64, err error) {
	var operation, time []byte
	r := wire.Read(entry)
	for r.Next(entryFields) {
		if r.Number == entryOperation {
			operation = r.Bytes()
		} else {
			time = r.Bytes()
		}
	}
	if r.Err() != nil || string(operation) != string(metav1.ManagedFieldsOperationUpdate) {
		return 0, r.Err()
	}
	t := wire.Read(time)
	for t.Next(secondsField) {
		updated = int64(t.Varint)
	}
	return updated, t.Err()
}
