package kube

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

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
// As in other protobuf decoders, a field that isn't encoded as its definition says counts as
// unknown: it is skipped.
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

// next goes to the next field of an encoding, which is [protowire.BytesType] or
// [protowire.VarintType], and reports whether there is one. There is none at the end of the
// message, and in a malformed one.
func (f *fields) next(encoding protowire.Type) bool {
	for len(f.rest) > 0 {
		number, kind, n := protowire.ConsumeTag(f.rest)
		if n < 0 {
			return f.fail()
		}
		value, m := f.rest[n:], 0
		switch {
		case kind != encoding:
			m = protowire.ConsumeFieldValue(number, kind, value)
		case kind == protowire.BytesType:
			f.bytes, m = protowire.ConsumeBytes(value)
		default:
			f.varint, m = protowire.ConsumeVarint(value)
		}
		if m < 0 {
			return f.fail()
		}
		f.rest = value[m:]
		if kind == encoding {
			f.number = number
			return true
		}
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

// IsProtobuf reports whether an encoded object begins as Kubernetes encodes objects in protobuf.
func IsProtobuf(encoded []byte) bool { return bytes.HasPrefix(encoded, protobufPrefix) }

// Unwrap returns the message of an object that Kubernetes encoded as protobuf, without its
// envelope. The message is part of what was given; appending to it copies it.
func Unwrap(encoded []byte) (message []byte, err error) {
	if !IsProtobuf(encoded) {
		return nil, errors.New("this is no Kubernetes protobuf")
	}
	var encoding []byte
	f := fields{rest: encoded[len(protobufPrefix):]}
	for f.next(protowire.BytesType) {
		switch f.number {
		case unknownRaw:
			message = f.bytes
		case unknownEncoding:
			encoding = f.bytes
		}
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case len(encoding) > 0:
		return nil, fmt.Errorf("unknown content encoding %q", encoding)
	default:
		return slices.Clip(message), nil
	}
}
