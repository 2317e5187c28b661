package wire

// Fields are those fields of a message that are wanted, by how they are encoded. The bit
// 1<<n stands for the field with the number n; a field from 64 on can't be wanted.
type Fields struct {
	// Bytes are fields that have a length: strings, bytes and messages.
	Bytes uint64
	// Varints are numbers and bools.
	Varints uint64
}

// Reader goes through the wanted fields of a message:
//
//	r := wire.Read(message)
//	for r.Next(want) {
//		switch r.Number { … }
//	}
//	return r.Err()
//
// As in other protobuf decoders, a field that is encoded in another way than its
// definition says is one that nobody knows: it is skipped.
type Reader struct {
	// Number is that of the field that Next went to.
	Number int
	// Varint is the value of the field, if it is a number or a bool.
	Varint uint64

	message           []byte
	start, value, end int // of the field
	err               error
}

// Read returns a Reader of a message, which is before the first field.
func Read(message []byte) Reader { return Reader{message: message} }

// Next goes to the next wanted field and reports whether there is one. There is none when
// the message is at its end or malformed, which Err tells apart.
//
// Each field is found by the length of the one before, so the time is that of reading one
// length after the other: what is not on that way costs next to nothing, and a function
// call for each field would cost half as much again.
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
			if i = other(message, tag, i); i < 0 {
				return r.fail()
			}
		}
	}
	r.end = i
	return false
}

// fail ends the message as malformed.
func (r *Reader) fail() bool {
	r.end, r.err = len(r.message), ErrMalformed
	return false
}

// Bytes returns the value of the field that Next went to, if it has a length.
func (r *Reader) Bytes() []byte { return r.message[r.value:r.end:r.end] }

// Start returns where that field begins in the message, with its tag.
func (r *Reader) Start() int { return r.start }

// End returns where that field ends in the message.
func (r *Reader) End() int { return r.end }

// Err returns what is wrong with the message, once Next reported that there is no more.
func (r *Reader) Err() error { return r.err }
