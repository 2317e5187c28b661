package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// jsonLister reads a list in JSON. Each object becomes an [entry] before the next one is read, so the list of an
// untrusted server needs little memory until one of the limits is exceeded. client-go reads and decodes the
// whole list first: an object of three bytes in JSON takes hundreds of bytes in memory. And an object that is
// nested as deep as the API server allows is too deep as a part of a list, which would hide all others.
type jsonLister struct {
	body    io.Reader
	read    int64 // bytes of the body
	tokens  *json.Decoder
	item    reflect.Type
	loose   bool // objects have no Go type
	decoder runtime.Decoder
	entries *entries
	// check returns an error if there are too many objects, and limit is the largest size of one in bytes.
	check func(objects int) error
	limit int64
}

func newJSONLister(body io.Reader, s *source, check func(objects int) error) (*jsonLister, error) {
	item, err := s.form.item()
	if err != nil {
		return nil, err
	}
	if _, ok := reflect.New(item).Interface().(runtime.Object); !ok {
		return nil, fmt.Errorf("%s is no API object", item)
	}
	decoder, err := s.negotiator.Decoder(mediaType(s.form.acceptList), nil)
	if err != nil {
		return nil, err
	}
	l := &jsonLister{body: body, item: item, loose: s.form.loose, decoder: decoder, entries: s.entries, check: check, limit: math.MaxInt64 / 2}
	if s.untrusted != nil {
		l.limit = s.untrusted.EventBytes
	}
	l.tokens = json.NewDecoder(l)
	return l, nil
}

// Read implements [io.Reader] for the decoder, which buffers one value. A larger one is an error.
func (l *jsonLister) Read(p []byte) (int, error) {
	left := l.tokens.InputOffset() + l.limit - l.read
	if left <= 0 {
		return 0, limitError(fmt.Sprintf("an object of its listing is larger than %d bytes", l.limit))
	}
	n, err := l.body.Read(p[:min(int64(len(p)), left)])
	l.read += int64(n)
	return n, err
}

// list returns the list. A list that is cut off or has no items is an error, because missing objects count as
// deleted.
func (l *jsonLister) list() (*entryList, error) {
	list, found := &entryList{}, false
	if err := l.expect(json.Delim('{')); err != nil {
		return nil, err
	}
	for l.tokens.More() {
		field, err := l.tokens.Token()
		switch {
		case err != nil:
		case field == "metadata":
			err = l.tokens.Decode(&list.ListMeta)
		case field == "kind":
			err = l.tokens.Decode(&list.Kind)
		case field == "apiVersion":
			err = l.tokens.Decode(&list.APIVersion)
		case field == "items":
			found, err = true, l.readItems(list)
		default:
			err = l.tokens.Decode(&json.RawMessage{})
		}
		if err != nil {
			return nil, unexpected(err)
		}
	}
	if err := l.expect(json.Delim('}')); err != nil {
		return nil, err
	}
	if !found {
		return nil, errors.New("not a list: it has no items")
	}
	return list, nil
}

func (l *jsonLister) readItems(list *entryList) error {
	switch first, err := l.tokens.Token(); {
	case err != nil:
		return err
	case first == nil:
		return nil
	case first != json.Delim('['):
		return errors.New("not a list: its items are no array")
	}
	for l.tokens.More() {
		if err := l.check(len(list.Items) + 1); err != nil {
			return err
		}
		e, err := l.readItem(list)
		if err != nil {
			return fmt.Errorf("decode object %d of the list: %w", len(list.Items), err)
		}
		list.Items = append(list.Items, e)
	}
	return l.expect(json.Delim(']'))
}

func (l *jsonLister) readItem(list *entryList) (*entry, error) {
	var raw json.RawMessage
	if err := l.tokens.Decode(&raw); err != nil {
		return nil, err
	}
	if l.loose {
		return l.readLoose(raw, list)
	}
	object := reflect.New(l.item).Interface().(runtime.Object)
	if err := runtime.DecodeInto(l.decoder, raw, object); err != nil {
		return nil, err
	}
	return l.entries.of(object)
}

// readLoose reads an object without a Go type. In a list of a built-in kind, only the list has the kind.
func (l *jsonLister) readLoose(raw json.RawMessage, list *entryList) (*entry, error) {
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &object.Object); err != nil {
		return nil, err
	}
	if object.Object == nil {
		return nil, errors.New("it is null")
	}
	if kind, isList := strings.CutSuffix(list.Kind, "List"); isList && object.GetKind() == "" {
		object.SetKind(kind)
		object.SetAPIVersion(list.APIVersion)
	}
	return l.entries.of(object)
}

func (l *jsonLister) expect(want json.Delim) error {
	token, err := l.tokens.Token()
	if err == nil && token != want {
		err = fmt.Errorf("unexpected %v in a list", token)
	}
	return unexpected(err)
}
