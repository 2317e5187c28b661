package listlimit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// maxEntry is the most bytes of one entry of an answer in JSON. A record set has 64 KiB in a
// message of DNS, and up to four times as much as text.
const maxEntry = 1 << 20

// Stream decodes an answer in JSON entry by entry, so that a limit is found exceeded before the
// rest of the answer is decoded.
type Stream struct {
	from    *meter
	decoder *json.Decoder
}

// NewStream returns a stream of an answer whose bytes and entries a listing counts.
func NewStream(body io.Reader, l *Listing) *Stream {
	from := &meter{from: body, listing: l, left: maxEntry}
	return &Stream{from: from, decoder: json.NewDecoder(from)}
}

// Value decodes the next value, which is one entry.
func (s *Stream) Value(into any) error {
	s.from.left = maxEntry
	return s.decoder.Decode(into)
}

// Array calls a function for each element of the next value, which has to be an array or null.
// The function decodes the element with [Stream.Value], [Stream.Array] or [Stream.Object].
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

// Object calls the function of each member of the next value, which has to be an object or null.
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
		// The decoder lets nothing else be the name of a member.
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

// End returns an error if something follows the value. Then the answer isn't what it seems to be.
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

// more reports whether there is another element. It gives the decoder new bytes to look for it.
func (s *Stream) more() bool {
	s.from.left = maxEntry
	return s.decoder.More()
}

// open reads the beginning of an array or object. It reports false for null.
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

// meter counts what is read of an answer, and lets no entry be too large.
type meter struct {
	from    io.Reader
	listing *Listing
	// left is how many bytes may still be read for the present entry.
	left int
	// err is the last error of from, or about a limit.
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
