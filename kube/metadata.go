package kube

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/internal/wire"
)

// The numbers of fields of a metav1.ManagedFieldsEntry and of a metav1.Timestamp, as which
// times are encoded.
const (
	operationField = 2
	timeField      = 4

	secondsField = 1
)

// The fields that are read of an object, of its metadata, with and without the managed
// fields, and of those.
var (
	objectFields   = wire.Fields{Bytes: 1 << wire.Metadata}
	metadataFields = wire.Fields{Bytes: 1<<wire.MetadataName | 1<<wire.MetadataNamespace | 1<<wire.MetadataResourceVersion}
	updatedFields  = wire.Fields{Bytes: metadataFields.Bytes | 1<<wire.MetadataManagedFields}
	entryFields    = wire.Fields{Bytes: 1<<operationField | 1<<timeField}
	timeFields     = wire.Fields{Varints: 1 << secondsField}
)

// messageMeta is what every object in protobuf is asked for. It points into the message.
type messageMeta struct {
	namespace, name, version []byte
	// updated is what the function newestUpdate returns for the object.
	updated int64
}

// readMetadata reads an object in protobuf. When it was updated is left out unless it is
// wanted.
func readMetadata(object []byte, wantUpdated bool) (m messageMeta, err error) {
	want := metadataFields
	if wantUpdated {
		want = updatedFields
	}
	r := wire.Read(object)
	for r.Next(objectFields) {
		if err := m.read(r.Bytes(), want); err != nil {
			return m, err
		}
	}
	return m, r.Err()
}

func (m *messageMeta) read(fields []byte, want wire.Fields) error {
	r := wire.Read(fields)
	for r.Next(want) {
		switch r.Number {
		case wire.MetadataName:
			m.name = r.Bytes()
		case wire.MetadataNamespace:
			m.namespace = r.Bytes()
		case wire.MetadataResourceVersion:
			m.version = r.Bytes()
		case wire.MetadataManagedFields:
			updated, err := updateOf(r.Bytes())
			if err != nil {
				return fmt.Errorf("managed fields: %w", err)
			}
			m.updated = max(m.updated, updated)
		}
	}
	return r.Err()
}

// updateOf returns when an entry of the managed fields says that the object was updated, in
// Unix seconds; zero for other operations.
func updateOf(entry []byte) (updated int64, err error) {
	var operation, time []byte
	r := wire.Read(entry)
	for r.Next(entryFields) {
		switch r.Number {
		case operationField:
			operation = r.Bytes()
		case timeField:
			time = r.Bytes()
		}
	}
	if err := r.Err(); err != nil || string(operation) != string(metav1.ManagedFieldsOperationUpdate) {
		return 0, err
	}
	t := wire.Read(time)
	for t.Next(timeFields) {
		updated = int64(t.Varint)
	}
	return updated, t.Err()
}
