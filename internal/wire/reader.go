package wire

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

	message           []byte
	start, value, end int // of the field
	err               error
}

// Read returns a Reader of a message, before the first field.
func Read(message []byte) Reader { return Reader{message: message} }

// Next advances to the next wanted field and reports whether there is one. It returns false at the end of the
// message, and if it is malformed; Err tells which.
//
// The loop has no function call for the usual fields, because that would make it half as slow again.
func (r *Reader) Next(want Fields) bool {
	message, i := r.message, r.end
	for i < len(message) {
		start, tag := i, uint64(message[i])
		if i++; tag >= 0x80 {
			tag, i = long(message, start)
		}
		if !valid(tag) || i >= len(message) {
			return r.fail()
		}
		number := tag >> 3
		switch tag & 7 {
		case bytesType:
			length, begin := uint64(message[i]), i+1
			if length >= 0x80 {
				length, begin = long(message, i)
			}
			if length > uint64(len(message)-begin) {
				return r.fail()
			}
			if i = begin + int(length); want.Bytes>>number&1 != 0 {
				r.Number, r.start, r.value, r.end = int(number), start, begin, i
				return true
			}
		case varintType:
			value, end := uint64(message[i]), i+1
			if value >= 0x80 {
				value, end = long(message, i)
			}
			if i = end; end < 0 {
				return r.fail()
			}
			if want.Varints>>number&1 != 0 {
				r.Number, r.Varint, r.start, r.end = int(number), value, start, i
				return true
			}
		default:
			if i = endOfValue(message, tag, i); i < 0 {
				return r.fail()
			}
		}
	}
	r.end = i
	return false
}

// fail ends the iteration as malformed.
func (r *Reader) fail() bool {
	r.end, r.err = len(r.message), ErrMalformed
	return false
}

// Bytes returns the value of the current field, if it is length-delimited.
func (r *Reader) Bytes() []byte { return r.message[r.value:r.end:r.end] }

// Start returns the offset of the current field, with its tag, in the message.
func (r *Reader) Start() int { return r.start }

// End returns the offset of the end of the current field in the message.
func (r *Reader) End() int { return r.end }

// Err returns the error after Next has returned false; nil at the end of the message.
func (r *Reader) Err() error { return r.err }
