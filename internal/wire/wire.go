// Package wire reads protobuf messages without decoding them. It is for code that reads few of the fields of
// many objects: packages kube/kinds, controllers/watched, controllers/writeclient and app/xdsclient.
//
// A [Reader] iterates over the wanted fields and skips the others, at two or three nanoseconds each. [Entry]
// reads an entry of a map. [AppendMetadata] and [AppendWithout] copy messages without some of their fields.
//
// # Concurrency
//
// A Reader copies nothing and belongs to one goroutine: the bytes of a field are part of the message. All
// functions are pure and may be called from any goroutine.
package wire

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed is returned for a message that is truncated or not protobuf.
var ErrMalformed = errors.New("the protobuf is truncated or malformed")

// The wire types of nearly all fields.
const (
	varintType = uint64(protowire.VarintType)
	bytesType  = uint64(protowire.BytesType)
)

// valid reports whether the field number of a tag is valid.
func valid(tag uint64) bool { return tag>>3-1 < uint64(protowire.MaxValidNumber) }

// long returns the varint of more than one byte at b[i:], and where it ends. If it is malformed, long returns
// the greatest number, which is no tag and more than any length, and a negative end.
func long(b []byte, i int) (value uint64, end int) {
	if i+1 < len(b) && b[i+1] < 0x80 {
		return uint64(b[i]&0x7f) | uint64(b[i+1])<<7, i + 2
	}
	value, n := protowire.ConsumeVarint(b[i:])
	if n < 0 {
		return math.MaxUint64, n
	}
	return value, i + n
}

// endOfValue returns the end of the value at message[i:], which is neither length-delimited nor a varint;
// negative if the value is malformed.
func endOfValue(message []byte, tag uint64, i int) (end int) {
	n := protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), message[i:])
	if n < 0 {
		return n
	}
	return i + n
}

// Entry returns the key and the value of an entry of a map from strings to strings.
func Entry(entry []byte) (key, value []byte, err error) {
	r := Read(entry)
	for r.Next(Fields{Bytes: 1<<1 | 1<<2}) {
		if r.Number == 1 {
			key = r.Bytes()
		} else {
			value = r.Bytes()
		}
	}
	if r.Err() != nil {
		return nil, nil, fmt.Errorf("entry of a map: %w", r.Err())
	}
	return key, value, nil
}
