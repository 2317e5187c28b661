// Package wire walks through messages in protobuf without decoding them, for those who
// read few of the fields of many objects: packages kube, controllers/watched and
// controllers/frugal.
//
// A [Reader] goes to the fields that are wanted and skips the others, which takes two or
// three nanoseconds each. [Next] returns one field after the other, and is for those who want
// most of a message: a [Field] is more than fits into registers, which makes it four times
// as slow.
//
// Nothing is copied: the bytes of a field are part of the message. All functions are
// pure, and may be called from any goroutine; a Reader belongs to one.
package wire

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed is the error of a message that is cut off, or no protobuf.
var ErrMalformed = errors.New("the protobuf is cut off or malformed")

// The encodings that nearly all fields have, as they are in a tag.
const (
	varintType = uint64(protowire.VarintType)
	bytesType  = uint64(protowire.BytesType)
)

// Field is a field of a message.
type Field struct {
	// Number is what the message's definition gives the field, from 1.
	Number int
	// Bytes is the value of a field that has a length: a string, bytes or a message. It
	// is nil for other fields, and for those only.
	Bytes []byte
	// Varint is the value of a field that is a number or a bool.
	Varint uint64
}

// Next returns the first field of a message that isn't empty, and what follows it. Fields
// of a fixed size have their number only.
func Next(message []byte) (f Field, rest []byte, err error) {
	if len(message) == 0 {
		return Field{}, nil, ErrMalformed
	}
	tag, i := uint64(message[0]), 1
	if tag >= 0x80 {
		tag, i = long(message, 0)
	}
	if !valid(tag) || i >= len(message) {
		return Field{}, nil, ErrMalformed
	}
	value, end := uint64(message[i]), i+1
	if value >= 0x80 {
		value, end = long(message, i)
	}
	switch tag & 7 {
	case bytesType:
		if value > uint64(len(message)-end) {
			break
		}
		begin := end
		end += int(value)
		return Field{Number: int(tag >> 3), Bytes: message[begin:end:end]}, message[end:], nil
	case varintType:
		if end < 0 {
			break
		}
		return Field{Number: int(tag >> 3), Varint: value}, message[end:], nil
	default:
		if end = other(message, tag, i); end < 0 {
			break
		}
		return Field{Number: int(tag >> 3)}, message[end:], nil
	}
	return Field{}, nil, ErrMalformed
}

// valid reports whether the number in a tag is one that a field may have.
func valid(tag uint64) bool { return tag>>3-1 < uint64(protowire.MaxValidNumber) }

// long returns the number of more than one byte at b[i:], and where it ends. Where there
// is none it returns the greatest number, which is no tag and more than any length, and a
// negative end.
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

// other returns where the value at message[i:] ends that has neither a length nor is a
// varint, and a negative number where there is none.
func other(message []byte, tag uint64, i int) (end int) {
	n := protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), message[i:])
	if n < 0 {
		return n
	}
	return i + n
}

// Entry returns the key and the value of an entry of a map from strings to strings.
func Entry(entry []byte) (key, value []byte, err error) {
	for len(entry) > 0 {
		var f Field
		if f, entry, err = Next(entry); err != nil {
			return nil, nil, fmt.Errorf("entry of a map: %w", err)
		}
		if f.Number > 2 {
			continue
		}
		if f.Bytes == nil {
			return nil, nil, fmt.Errorf("entry of a map that has no strings: %w", ErrMalformed)
		}
		if f.Number == 1 {
			key = f.Bytes
		} else {
			value = f.Bytes
		}
	}
	return key, value, nil
}
