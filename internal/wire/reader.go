package wire

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields are the wanted fields of a message, by encoding. The bit 1<<n stands for field number n; numbers
// from 64 on can't be represented.
type Fields struct {
	// Bytes are length-delimited fields: strings, bytes and messages.
	Bytes uint64
	// Varints are numbers and bools.
	Varints uint64
}

// Reader iterates over the wanted fields of a message:
//
//	r := wire.Read(message)
//	for r.Next(want) {
//		switch r.Number { … }
//	}
//	return r.Err()
//
// As in other protobuf decoders, a field with another wire type than defined is skipped as unknown.
type Reader struct {
	// Number is the number of the current field.
	Number int
	// Varint is the value of the field, if it is a number or a bool.
	Varint uint64

	message    []byte
	start, end int // of the field
	bytes      []byte
	err        error
}

// Read returns a Reader of a message, before the first field.
func Read(message []byte) Reader { return Reader{message: message} }

// Next advances to the next wanted field and reports whether there is one. It returns false at the end of the
// message, and if it is malformed; Err tells which.
func (r *Reader) Next(want Fields) bool {
	for r.end < len(r.message) {
		rest := r.message[r.end:]
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 || number > protowire.MaxValidNumber {
			return r.fail()
		}
		value, wanted, m := rest[n:], false, 0
		switch kind {
		case protowire.BytesType:
			r.bytes, m = protowire.ConsumeBytes(value)
			wanted = want.Bytes>>number&1 != 0
		case protowire.VarintType:
			r.Varint, m = protowire.ConsumeVarint(value)
			wanted = want.Varints>>number&1 != 0
		default:
			m = protowire.ConsumeFieldValue(number, kind, value)
		}
		if m < 0 {
			return r.fail()
		}
		r.Number, r.start, r.end = int(number), r.end, r.end+n+m
		if wanted {
			return true
		}
	}
	return false
}

// fail ends the iteration as malformed.
func (r *Reader) fail() bool {
	r.end, r.err = len(r.message), ErrMalformed
	return false
}

// Bytes returns the value of the current field, if it is length-delimited.
func (r *Reader) Bytes() []byte { return slices.Clip(r.bytes) }

// Start returns the offset of the current field, with its tag, in the message.
func (r *Reader) Start() int { return r.start }

// End returns the offset of the end of the current field in the message.
func (r *Reader) End() int { return r.end }

// Err returns the error after Next has returned false; nil at the end of the message.
func (r *Reader) Err() error { return r.err }
