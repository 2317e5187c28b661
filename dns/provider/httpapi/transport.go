package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/version"
)

// named is a transport that sets the User-Agent.
type named struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	const header = "User-Agent"
	agent := version.UserAgent("dns")
	if sdk := req.Header.Get(header); sdk != "" {
		agent += " " + sdk
	}
	// A transport must not change the request.
	changed := req.Clone(req.Context())
	changed.Header.Set(header, agent)
	return n.next.RoundTrip(changed)
}

// ErrTooLarge is the error for a body that exceeds its limit, also when decoded. If nothing of a
// request was sent, the error wraps [provider.ErrRejected] too, because fewer changes may be small
// enough.
var ErrTooLarge = errors.New("the body has too many bytes")

const (
	// defaultLimit limits a body in bytes: some 300,000 records.
	defaultLimit = 64 << 20
	// DefaultDecoded limits the memory, in bytes, of a response that is decoded as a whole. A page of
	// 5,000 Cloudflare records with 2 KiB of content each needs two thirds of it.
	DefaultDecoded = 32 << 20
	// structureSize is the memory, in bytes, for each structural character of a response. An empty
	// element takes three bytes in JSON, and a hundred or more decoded.
	structureSize = 64
)

func limitOf(option, usual int64) int64 {
	if option == 0 {
		return usual
	}
	return option
}

// limited is a transport that limits bodies; negative means no limit. decoded limits the memory of
// decoded responses.
type limited struct {
	next                       http.RoundTripper
	request, response, decoded int64
}

// RoundTrip implements [http.RoundTripper].
func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.request >= 0 && req.ContentLength > l.request {
		return nil, Unsent(req, fmt.Errorf("%w: %w: it has %d, and may have %d", provider.ErrRejected, ErrTooLarge, req.ContentLength, l.request))
	}
	if l.request >= 0 && req.ContentLength < 0 && req.Body != nil {
		// The length is only known while the body is sent.
		req = req.Clone(req.Context())
		req.Body = &limitedBody{ReadCloser: req.Body, left: l.request}
	}
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	if l.response >= 0 {
		resp.Body = &limitedBody{ReadCloser: resp.Body, left: l.response}
	}
	if l.decoded >= 0 {
		resp.Body = LimitDecoded(resp.Body, l.decoded)
	}
	return resp, nil
}

// limitedBody fails if the body is longer than left. An [io.LimitReader] would end instead, as if
// the body were complete.
type limitedBody struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (b *limitedBody) Read(into []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	// One more byte shows whether the body is longer.
	n, err := b.ReadCloser.Read(into[:min(int64(len(into)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}

// LimitDecoded returns a JSON or XML body that fails with [ErrTooLarge] before it would need more
// than so many bytes of memory decoded. It is for responses that a vendor's SDK decodes.
func LimitDecoded(body io.ReadCloser, most int64) io.ReadCloser {
	return &decodedBody{ReadCloser: body, most: most}
}

type decodedBody struct {
	io.ReadCloser
	// needed is the memory for what was read so far, and most its limit.
	needed, most int64
}

// Read implements [io.Reader].
func (b *decodedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.needed += DecodedSize(into[:n]); b.needed > b.most {
		return 0, &decodedError{b.most}
	}
	return n, err
}

// decodedError is the error for a response that needs too much memory.
type decodedError struct{ most int64 }

// Error implements error.
func (e *decodedError) Error() string {
	return fmt.Sprintf("%v: decoded, the response would need more than %d bytes of memory", ErrTooLarge, e.most)
}

// Unwrap returns [ErrTooLarge].
func (e *decodedError) Unwrap() error { return ErrTooLarge }

// TooLarge returns the error of [LimitDecoded] in an error of an SDK, or nil.
func TooLarge(err error) error {
	if e, ok := errors.AsType[*decodedError](err); ok {
		return e
	}
	return nil
}

// DecodedSize returns the memory, in bytes, of a decoded part of a JSON or XML response, including
// the overhead of each value.
func DecodedSize(text []byte) int64 {
	marks := 0
	for _, c := range text {
		switch c {
		case '{', '[', ',', '<':
			marks++
		}
	}
	return int64(len(text) + marks*structureSize)
}
