package wire

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Field is a field of an API type.
type Field struct {
	Number int
	// Encoding is "bytes" or "varint", for example.
	Encoding string
	Type     reflect.Type
}

// FieldOf returns a field of an API type by the name in its protobuf tag, such as
// `protobuf:"bytes,2,rep,name=containers"`.
func FieldOf(object reflect.Type, name string) (Field, error) {
	if object.Kind() != reflect.Struct {
		return Field{}, fmt.Errorf("%s has no fields", object)
	}
	for i := range object.NumField() {
		tag := strings.Split(object.Field(i).Tag.Get("protobuf"), ",")
		if len(tag) < 4 || tag[3] != "name="+name {
			continue
		}
		number, err := strconv.Atoi(tag[1])
		return Field{number, tag[0], object.Field(i).Type}, err
	}
	return Field{}, fmt.Errorf("%s has no field %s", object, name)
}

// NumberOf returns the number of a field of an API type, by the name in its protobuf tag. It panics if there
// is no such field, so use it for package variables.
func NumberOf[T any](name string) int { return mustFind[T](name).Number }

// FieldsOf returns the fields of an API type with these names in their protobuf tags. It panics like
// NumberOf, and for a field that Fields can't represent.
func FieldsOf[T any](names ...string) Fields {
	var want Fields
	for _, name := range names {
		switch f := mustFind[T](name); {
		case f.Number >= 64:
			panic(fmt.Sprintf("wire: the field %s of %s has the number %d", name, reflect.TypeFor[T](), f.Number))
		case f.Encoding == "bytes":
			want.Bytes |= 1 << f.Number
		case f.Encoding == "varint":
			want.Varints |= 1 << f.Number
		default:
			panic(fmt.Sprintf("wire: the field %s of %s is encoded as %s", name, reflect.TypeFor[T](), f.Encoding))
		}
	}
	return want
}

func mustFind[T any](name string) Field {
	f, err := FieldOf(reflect.TypeFor[T](), name)
	if err != nil {
		panic(fmt.Sprintf("wire: %v", err))
	}
	return f
}
