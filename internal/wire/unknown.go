package wire

import (
	"bytes"
	"errors"
	"fmt"
)

// prefix begins each object that Kubernetes encodes as protobuf; what follows is a
// runtime.Unknown (k8s.io/apimachinery/pkg/runtime/generated.proto).
var prefix = []byte("k8s\x00")

// The numbers of fields of a runtime.Unknown.
const (
	unknownRaw      = 2
	unknownEncoding = 3
)

var unknownFields = Fields{Bytes: 1<<unknownRaw | 1<<unknownEncoding}

// IsKubernetes reports whether bytes are an object as Kubernetes encodes it in protobuf.
func IsKubernetes(encoded []byte) bool { return bytes.HasPrefix(encoded, prefix) }

// Unknown returns the message of an object that Kubernetes encoded as protobuf, in its
// envelope.
func Unknown(encoded []byte) (object []byte, err error) {
	if !IsKubernetes(encoded) {
		return nil, errors.New("this is no Kubernetes protobuf")
	}
	r := Read(encoded[len(prefix):])
	for r.Next(unknownFields) {
		switch r.Number {
		case unknownRaw:
			object = r.Bytes()
		case unknownEncoding:
			if len(r.Bytes()) > 0 {
				return nil, fmt.Errorf("unknown content encoding %q", r.Bytes())
			}
		}
	}
	return object, r.Err()
}
