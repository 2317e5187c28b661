package kube

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/internal/wire"
)

// entryList is a list whose objects have become entries.
type entryList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject implements runtime.Object. The items don't change.
func (l *entryList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	return &out
}

// Field numbers of each list type of the API.
const (
	listMeta  = 1
	listItems = 2
)

// listMetaLimit bounds the metadata of a list.
const listMetaLimit = 1 << 20

// lister reads a list in protobuf. Each object becomes an [entry] before the next one is read. An API server
// that can't stream objects sends them all in one list, and decoding it as a whole takes several times the
// memory of everything that the tables keep.
type lister struct {
	in      *bufio.Reader
	entries *entries
	objects *objects
	// check returns an error if there are too many objects.
	check func(objects int) error
	frame []byte // the last object
}

func (l *lister) read() (*entryList, error) {
	prefix := make([]byte, len(protobufPrefix))
	if _, err := io.ReadFull(l.in, prefix); err != nil || !bytes.Equal(prefix, protobufPrefix) {
		return nil, errors.Join(errors.New("not Kubernetes protobuf"), err)
	}
	list, found := &entryList{}, false
	envelope := section{in: l.in, left: math.MaxInt64, last: true}
	for {
		number, length, err := envelope.next()
		if errors.Is(err, io.EOF) && found {
			return list, nil
		}
		if err == nil {
			switch {
			case number == unknownRaw:
				found = true
				err = l.readItems(&section{in: l.in, left: length}, list)
				envelope.left -= length
			case number == unknownEncoding && length > 0:
				err = errors.New("unknown content encoding")
			default:
				err = envelope.skip(length)
			}
		}
		if err != nil {
			return nil, unexpected(err)
		}
	}
}

func (l *lister) readItems(message *section, list *entryList) error {
	for {
		number, length, err := message.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			switch number {
			case listMeta:
				err = l.readMeta(message, length, list)
			case listItems:
				err = l.readItem(message, length, list)
			default:
				err = message.skip(length)
			}
		}
		if err != nil {
			return err
		}
	}
}

func (l *lister) readMeta(message *section, length int64, list *entryList) error {
	if length > listMetaLimit {
		return fmt.Errorf("the metadata of the list has %d bytes", length)
	}
	encoded := make([]byte, length)
	if err := message.fill(encoded); err != nil {
		return err
	}
	return list.ListMeta.Unmarshal(encoded)
}

func (l *lister) readItem(message *section, length int64, list *entryList) error {
	if length > frameLimit {
		return fmt.Errorf("the length of an object, %d bytes, is more than any object has", length)
	}
	if err := l.check(len(list.Items) + 1); err != nil {
		return err
	}
	if int(length) > cap(l.frame) || cap(l.frame) > frameKept {
		l.frame = make([]byte, length, length+length/2)
	}
	l.frame = l.frame[:length]
	if err := message.fill(l.frame); err != nil {
		return err
	}
	e, err := l.entries.read(l.frame, l.objects)
	if err != nil {
		return fmt.Errorf("decode object %d of the list: %w", len(list.Items), err)
	}
	list.Items = append(list.Items, e)
	return nil
}

// section is a message in a protobuf stream.
type section struct {
	in   *bufio.Reader
	left int64 // unread bytes of the section
	last bool  // the section ends with the stream
}

// ReadByte implements io.ByteReader.
func (s *section) ReadByte() (byte, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	s.left--
	b, err := s.in.ReadByte()
	if !s.last {
		err = unexpected(err)
	}
	return b, err
}

// next advances to the next length-delimited field. It returns io.EOF if there is none.
func (s *section) next() (number protowire.Number, length int64, err error) {
	for {
		tag, err := binary.ReadUvarint(s)
		if err != nil {
			return 0, 0, err
		}
		number, kind := protowire.DecodeTag(tag)
		if number < protowire.MinValidNumber {
			return 0, 0, wire.ErrMalformed
		}
		switch kind {
		case protowire.BytesType:
			n, err := binary.ReadUvarint(s)
			if err == nil && n > uint64(s.left) {
				err = wire.ErrMalformed
			}
			return number, int64(n), unexpected(err)
		case protowire.VarintType:
			_, err = binary.ReadUvarint(s)
		case protowire.Fixed32Type:
			err = s.skip(4)
		case protowire.Fixed64Type:
			err = s.skip(8)
		default:
			err = wire.ErrMalformed
		}
		if err != nil {
			return 0, 0, unexpected(err)
		}
	}
}

func (s *section) fill(into []byte) error {
	if int64(len(into)) > s.left {
		return wire.ErrMalformed
	}
	s.left -= int64(len(into))
	_, err := io.ReadFull(s.in, into)
	return err
}

func (s *section) skip(n int64) error {
	if n > s.left {
		return wire.ErrMalformed
	}
	s.left -= n
	_, err := io.CopyN(io.Discard, s.in, n)
	return err
}

// unexpected turns io.EOF into io.ErrUnexpectedEOF, because the list hasn't ended.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
