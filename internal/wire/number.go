package wire

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// NumberOf returns the number of a field of an API type, by the name in its protobuf tag. It panics if there
// is no such field, so use it for package variables.
func NumberOf[T any](name string) int {
	number, _ := tagOf(reflect.TypeFor[T](), name)
	return number
}

// FieldsOf returns the fields of an API type with these names in their protobuf tags. It panics like
// NumberOf, and for a field that Fields can't represent.
func FieldsOf[T any](names ...string) Fields {
	var want Fields
	for _, name := range names {
		object := reflect.TypeFor[T]()
		switch number, encoding := tagOf(object, name); {
		case number >= 64:
			panic(fmt.Sprintf("wire: the field %s of %s has the number %d", name, object, number))
		case encoding == "bytes":
			want.Bytes |= 1 << number
		case encoding == "varint":
			want.Varints |= 1 << number
		default:
			panic(fmt.Sprintf("wire: the field %s of %s is encoded as %s", name, object, encoding))
		}
	}
	return want
}

// tagOf returns the number and the encoding in a field's tag, such as
// `protobuf:"bytes,2,rep,name=containers"`.
func tagOf(object reflect.Type, name string) (number int, encoding string) {
	for i := range object.NumField() {
		tag := strings.Split(object.Field(i).Tag.Get("protobuf"), ",")
		if len(tag) < 4 || tag[3] != "name="+name {
			continue
		}
		number, err := strconv.Atoi(tag[1])
		if err != nil {
			break
		}
		return number, tag[0]
	}
	panic(fmt.Sprintf("wire: %s has no field %s", object, name))
}
