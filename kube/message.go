package kube

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// errMalformed is the error of a message that is cut off, or no protobuf.
var errMalformed = errors.New("the protobuf is cut off or malformed")

// fields goes through the fields of a message in protobuf without decoding them:
//
//	f := fields{rest: message}
//	for f.next(protowire.BytesType) {
//		switch f.number { … }
//	}
//	return f.err
//
// As in other protobuf decoders, a field that is encoded in another way than its definition
// says is one that nobody knows: it is skipped.
type fields struct {
	// rest is what follows the field.
	rest   []byte
	number protowire.Number
	// bytes is the value of a field that has a length, and part of the message; varint is that
	// of a number.
	bytes  []byte
	varint uint64
	err    error
}

// next goes to the next field with this encoding, which has a length or is a varint. There is
// none when the message is at its end, or malformed.
func (f *fields) next(encoding protowire.Type) bool {
	for len(f.rest) > 0 {
		number, kind, n := protowire.ConsumeTag(f.rest)
		if n < 0 {
			return f.fail()
		}
		value := f.rest[n:]
		m := protowire.ConsumeFieldValue(number, kind, value)
		if m < 0 {
			return f.fail()
		}
		f.rest = value[m:]
		if kind != encoding {
			continue
		}
		f.number = number
		if kind == protowire.BytesType {
			f.bytes, _ = protowire.ConsumeBytes(value)
		} else {
			f.varint, _ = protowire.ConsumeVarint(value)
		}
		return true
	}
	return false
}

// fail ends the message as malformed.
func (f *fields) fail() bool {
	f.rest, f.err = nil, errMalformed
	return false
}

// protobufPrefix begins each object that Kubernetes encodes as protobuf; what follows is a
// runtime.Unknown (k8s.io/apimachinery/pkg/runtime/generated.proto).
var protobufPrefix = []byte("k8s\x00")

// The numbers of fields of a runtime.Unknown.
const (
	unknownRaw      = 2
	unknownEncoding = 3
)

// IsProtobuf reports whether bytes are an object as Kubernetes encodes it in protobuf.
func IsProtobuf(encoded []byte) bool { return bytes.HasPrefix(encoded, protobufPrefix) }

// Unwrap returns the message of an object that Kubernetes encoded as protobuf, without its
// envelope. The message is part of what was given.
func Unwrap(encoded []byte) (message []byte, err error) {
	if !IsProtobuf(encoded) {
		return nil, errors.New("this is no Kubernetes protobuf")
	}
	f := fields{rest: encoded[len(protobufPrefix):]}
	for f.next(protowire.BytesType) {
		switch f.number {
		case unknownRaw:
			message = f.bytes
		case unknownEncoding:
			if len(f.bytes) > 0 {
				return nil, fmt.Errorf("unknown content encoding %q", f.bytes)
			}
		}
	}
	return message, f.err
}
