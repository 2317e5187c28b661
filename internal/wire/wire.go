// Package wire reads protobuf messages without decoding them. It is for code that reads few of the fields of
// many objects: packages kube, kube/kinds, controllers/watched and app/xdsclient.
//
// A [Reader] iterates over the wanted fields and skips the others. [Entry] reads an entry of a map.
// [AppendMetadata] and [AppendWithout] copy messages without some of their fields.
//
// # Concurrency
//
// A Reader copies nothing and belongs to one goroutine: the bytes of a field are part of the message. All
// functions are pure and may be called from any goroutine.
package wire

import (
	"errors"
	"fmt"
)

// ErrMalformed is returned for a message that is truncated or not protobuf.
var ErrMalformed = errors.New("the protobuf is truncated or malformed")

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
