package kube

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/internal/wire"
)

// unread lists the fields of a protobuf message that are not decoded, by field number.
type unread []unreadField

// unreadField says whether all of a field, or which fields below it, are not decoded.
type unreadField struct {
	all   bool
	below unread
}

func (u unread) of(number protowire.Number) unreadField {
	if int(number) < len(u) {
		return u[number]
	}
	return unreadField{}
}

// unreadOf resolves paths such as "spec.containers.image". The names are those in the protobuf tags of a
// generated API type.
func unreadOf(object reflect.Type, paths []string) (unread, error) {
	var fields unread
	for _, path := range paths {
		if err := fields.add(object, strings.Split(path, ".")); err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", path, object, err)
		}
	}
	return fields, nil
}

func (u *unread) add(object reflect.Type, path []string) error {
	for object.Kind() == reflect.Pointer || object.Kind() == reflect.Slice {
		object = object.Elem()
	}
	field, err := wire.FieldOf(object, path[0])
	if err != nil {
		return err
	}
	for len(*u) <= field.Number {
		*u = append(*u, unreadField{})
	}
	if len(path) == 1 {
		(*u)[field.Number].all = true
		return nil
	}
	return (*u)[field.Number].below.add(field.Type, path[1:])
}

// prune removes unread fields from an encoded message, in place. Removing them costs less than decoding them,
// which is most of the cost of decoding an ordinary pod.
func (u unread) prune(message []byte) ([]byte, error) {
	kept := message[:0]
	for len(message) > 0 {
		number, wireType, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, wire.ErrMalformed
		}
		m := protowire.ConsumeFieldValue(number, wireType, message[n:])
		if m < 0 {
			return nil, wire.ErrMalformed
		}
		field := message[:n+m]
		message = message[n+m:]
		of := u.of(number)
		switch {
		case of.all:
		case of.below == nil:
			kept = append(kept, field...)
		case wireType != protowire.BytesType:
			return nil, wire.ErrMalformed
		default:
			value, _ := protowire.ConsumeBytes(field[n:])
			value, err := of.below.prune(value)
			if err != nil {
				return nil, err
			}
			// The written part ends before the unread part begins.
			kept = protowire.AppendTag(kept, number, wireType)
			kept = append(protowire.AppendVarint(kept, uint64(len(value))), value...)
		}
	}
	return kept, nil
}
