package kube

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// jsonLister reads a list in JSON from an untrusted server. Each object becomes an [entry] before the next one
// is read, so the list needs little memory until one of the limits is exceeded. client-go reads and decodes
// the whole list first: an object of three bytes in JSON takes hundreds of bytes in memory.
type jsonLister struct {
	in      *bufio.Reader
	item    reflect.Type
	decoder runtime.Decoder
	entries *entries
	// check returns an error if there are too many objects, and limit is the largest size of one in bytes.
	check func(objects int) error
	limit int64
	value []byte // the last value
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
	return &jsonLister{
		in: bufio.NewReaderSize(body, s.buffer), item: item, decoder: decoder, entries: s.entries,
		check: check, limit: s.untrusted.EventBytes,
	}, nil
}

// read returns the list. A list that is cut off or has no items is an error, because missing objects count as
// deleted.
func (l *jsonLister) read() (*entryList, error) {
	list, found := &entryList{}, false
	if err := l.expect('{'); err != nil {
		return nil, err
	}
	err := l.sequence('}', func() error {
		var field string
		if err := l.next(&field); err != nil {
			return err
		}
		if err := l.expect(':'); err != nil {
			return err
		}
		switch field {
		case "metadata":
			return l.next(&list.ListMeta)
		case "items":
			found = true
			return l.readItems(list)
		default:
			return l.next(&json.RawMessage{})
		}
	})
	if err == nil && !found {
		err = errors.New("not a list: it has no items")
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (l *jsonLister) readItems(list *entryList) error {
	first, err := l.token()
	if err != nil {
		return err
	}
	if first != '[' {
		var none *struct{} // only null decodes into it as nil
		if err := errors.Join(l.in.UnreadByte(), l.next(&none)); err != nil || none != nil {
			return errors.New("not a list: its items are no array")
		}
		return nil
	}
	return l.sequence(']', func() error {
		if err := l.check(len(list.Items) + 1); err != nil {
			return err
		}
		e, err := l.readItem()
		if err != nil {
			return fmt.Errorf("decode object %d of the list: %w", len(list.Items), err)
		}
		list.Items = append(list.Items, e)
		return nil
	})
}

func (l *jsonLister) readItem() (*entry, error) {
	if err := l.readValue(); err != nil {
		return nil, err
	}
	object := reflect.New(l.item).Interface().(runtime.Object)
	if err := runtime.DecodeInto(l.decoder, l.value, object); err != nil {
		return nil, err
	}
	return l.entries.of(object)
}

// sequence reads the elements of an array or object, and its end.
func (l *jsonLister) sequence(end byte, element func() error) error {
	switch c, err := l.token(); {
	case err != nil:
		return err
	case c == end:
		return nil
	}
	if err := l.in.UnreadByte(); err != nil {
		return err
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch c, err := l.token(); {
		case err != nil:
			return err
		case c == end:
			return nil
		case c != ',':
			return errUnexpected(c)
		}
	}
}

// next decodes the next value.
func (l *jsonLister) next(into any) error {
	if err := l.readValue(); err != nil {
		return err
	}
	return json.Unmarshal(l.value, into)
}

// readValue reads the bytes of the next value. It only finds where the value ends; decoding it finds what is
// wrong with it.
func (l *jsonLister) readValue() error {
	first, err := l.token()
	if err != nil {
		return err
	}
	if cap(l.value) > frameKept {
		l.value = nil
	}
	l.value = l.value[:0]
	depth, quoted, escaped := 0, false, false
	for c := first; ; {
		if int64(len(l.value)) >= l.limit {
			return limitError(fmt.Sprintf("an object of its listing is larger than %d bytes", l.limit))
		}
		l.value = append(l.value, c)
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
		structured := first == '{' || first == '[' || first == '"'
		if structured && depth <= 0 && !quoted {
			return nil
		}
		if c, err = l.in.ReadByte(); err != nil {
			return unexpected(err)
		}
		if !structured && (isSpace(c) || c == ',' || c == '}' || c == ']') {
			return l.in.UnreadByte()
		}
	}
}

// token returns the next byte that is no space.
func (l *jsonLister) token() (byte, error) {
	for {
		if c, err := l.in.ReadByte(); err != nil || !isSpace(c) {
			return c, unexpected(err)
		}
	}
}

func (l *jsonLister) expect(want byte) error {
	c, err := l.token()
	if err == nil && c != want {
		err = errUnexpected(c)
	}
	return err
}

func errUnexpected(c byte) error { return fmt.Errorf("unexpected byte %q in a list", c) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
