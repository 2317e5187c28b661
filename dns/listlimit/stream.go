package listlimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// maxEntry limits one entry of a JSON response, in bytes. A record set has up to 64 KiB in a DNS
// message, and up to four times as much as text.
const maxEntry = 1 << 20

// Stream decodes a JSON response entry by entry, so that an exceeded limit is found before the rest
// is decoded.
type Stream struct {
	from    *meter
	decoder *json.Decoder
}

// NewStream returns a stream of a response. The listing counts its bytes and entries.
func NewStream(body io.Reader, l *Listing) *Stream {
	from := &meter{from: body, listing: l, left: maxEntry}
	return &Stream{from: from, decoder: json.NewDecoder(from)}
}

// Value decodes the next value, which is one entry.
func (s *Stream) Value(into any) error {
	s.from.left = maxEntry
	return s.decoder.Decode(into)
}

// Array calls element for each element of the next value, which must be an array or null. The
// function decodes the element with [Stream.Value], [Stream.Array] or [Stream.Object].
func (s *Stream) Array(element func() error) error {
	if open, err := s.open('[', "an array"); err != nil || !open {
		return err
	}
	for s.more() {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := s.decoder.Token()
	return err
}

// Object calls the function of each member of the next value, which must be an object or null.
// Members without a function are skipped.
func (s *Stream) Object(members map[string]func() error) error {
	if open, err := s.open('{', "an object"); err != nil || !open {
		return err
	}
	for s.more() {
		name, err := s.decoder.Token()
		if err != nil {
			return err
		}
		// The decoder ensures that the token is a string.
		read := members[name.(string)]
		if read == nil {
			read = func() error {
				var skipped json.RawMessage
				return s.Value(&skipped)
			}
		}
		if err := read(); err != nil {
			return err
		}
	}
	_, err := s.decoder.Token()
	return err
}

// End returns an error if anything follows the value, because the response is then malformed.
func (s *Stream) End() error {
	s.from.left = maxEntry
	switch _, err := s.decoder.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case s.from.err != nil && !errors.Is(s.from.err, io.EOF):
		return s.from.err
	default:
		return errors.New("something follows the value")
	}
}

// more reports whether there is another element, and resets the entry limit.
func (s *Stream) more() bool {
	s.from.left = maxEntry
	return s.decoder.More()
}

// open reads the start of an array or object. It returns false for null.
func (s *Stream) open(delimiter json.Delim, kind string) (bool, error) {
	s.from.left = maxEntry
	switch token, err := s.decoder.Token(); {
	case errors.Is(err, io.EOF):
		return false, io.ErrUnexpectedEOF
	case err != nil:
		return false, err
	case token == nil:
		return false, nil
	case token != delimiter:
		return false, fmt.Errorf("the value is a JSON %s, and must be %s", kindOf(token), kind)
	default:
		return true, nil
	}
}

func kindOf(token json.Token) string {
	switch token {
	case json.Delim('{'):
		return "object"
	case json.Delim('['):
		return "array"
	}
	return reflect.TypeOf(token).String()
}

// meter counts the bytes of a response, and limits each entry.
type meter struct {
	from    io.Reader
	listing *Listing
	// left is how many bytes may still be read for the current entry.
	left int
	// err is the last read error, or an exceeded limit.
	err error
}

// Read implements [io.Reader].
func (m *meter) Read(into []byte) (int, error) {
	if m.left <= 0 {
		m.err = fmt.Errorf("%w: an entry has more than %d bytes", ErrExceeded, maxEntry)
		return 0, m.err
	}
	var n int
	n, m.err = m.from.Read(into[:min(len(into), m.left)])
	m.left -= n
	if err := m.listing.Receive(n); err != nil {
		m.err = err
	}
	return n, m.err
}
