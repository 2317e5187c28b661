package kube

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The numbers of fields of an API object, of a metav1.ObjectMeta, of a
// metav1.ManagedFieldsEntry and of a metav1.Timestamp, as which times are encoded
// (k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto).
const (
	metadataField = 1

	nameField            = 1
	namespaceField       = 3
	uidField             = 5
	resourceVersionField = 6
	managedFieldsField   = 17

	operationField = 2
	timeField      = 4

	secondsField = 1
)

// messageMeta is what is read of the metadata of every object in protobuf. Its slices are
// parts of the message.
type messageMeta struct {
	namespace, name, uid, version []byte
	// metadata is the message of the metadata.
	metadata []byte
}

// readMetadata reads the metadata of an object in protobuf.
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

// updateOf returns the time of an entry of the managed fields, in Unix seconds; zero unless its
// operation is Update.
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
