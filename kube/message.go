package kube

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/signpostd/signpost/internal/wire"
)

// protobufPrefix starts every object that Kubernetes encodes as protobuf. A runtime.Unknown follows
// (k8s.io/apimachinery/pkg/runtime/generated.proto).
var protobufPrefix = []byte("k8s\x00")

// Field numbers of runtime.Unknown.
const (
	unknownRaw      = 2
	unknownEncoding = 3
)

// isProtobuf reports whether an encoded object starts with Kubernetes' protobuf prefix.
func isProtobuf(encoded []byte) bool { return bytes.HasPrefix(encoded, protobufPrefix) }

// unwrap returns the message inside the envelope of a Kubernetes protobuf object. The message is a part of
// encoded; appending to it copies it.
func unwrap(encoded []byte) (message []byte, err error) {
	if !isProtobuf(encoded) {
		return nil, errors.New("not Kubernetes protobuf")
	}
	var encoding []byte
	r := wire.Read(encoded[len(protobufPrefix):])
	for r.Next(wire.Fields{Bytes: 1<<unknownRaw | 1<<unknownEncoding}) {
		if r.Number == unknownRaw {
			message = r.Bytes()
		} else {
			encoding = r.Bytes()
		}
	}
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case len(encoding) > 0:
		return nil, fmt.Errorf("unknown content encoding %q", encoding)
	default:
		return message, nil
	}
}
