package kube

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// errMalformed is returned for a message that is truncated or not protobuf.
var errMalformed = errors.New("the protobuf is truncated or malformed")

// fields iterates over the fields of a protobuf message without decoding them:
//
//	f := fields{rest: message}
//	for f.next(protowire.BytesType) {
//		switch f.number { … }
//	}
//	return f.err
//
// As in other protobuf decoders, a field with another wire type than defined is skipped as unknown.
type fields struct {
	// rest is the message after the current field.
	rest   []byte
	number protowire.Number
	// bytes is the value of a length-delimited field, a part of the message. varint is the value of a number.
	bytes  []byte
	varint uint64
	err    error
}

// next advances to the next field of the given wire type ([protowire.BytesType] or [protowire.VarintType])
// and reports whether there is one. It returns false at the end of the message, and if it is malformed.
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

// fail ends the iteration as malformed.
func (f *fields) fail() bool {
	f.rest, f.err = nil, errMalformed
	return false
}

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
