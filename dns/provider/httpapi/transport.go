package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/version"
)

// named is a transport that tells servers what this program is.
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

// ErrTooLarge is the error for a body with more bytes than the limit. If nothing of a request
// was sent, the error wraps [provider.ErrRejected], too: fewer changes may be small enough.
var ErrTooLarge = errors.New("the body has too many bytes")

// defaultLimit is the most bytes in a body: those of some 300,000 records.
const defaultLimit = 64 << 20

func limitOf(option int64) int64 {
	if option == 0 {
		return defaultLimit
	}
	return option
}

// limited is a transport for bodies up to a size; a negative one is any.
type limited struct {
	next            http.RoundTripper
	request, answer int64
}

// RoundTrip implements [http.RoundTripper].
func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.request >= 0 && req.ContentLength > l.request {
		return nil, unsent(req, fmt.Errorf("%w: %w: it has %d, and may have %d", provider.ErrRejected, ErrTooLarge, req.ContentLength, l.request))
	}
	if l.request >= 0 && req.ContentLength < 0 && req.Body != nil {
		// How long it is shows as it is sent.
		req = req.Clone(req.Context())
		req.Body = &limitedBody{ReadCloser: req.Body, left: l.request}
	}
	resp, err := l.next.RoundTrip(req)
	if err != nil || l.answer < 0 {
		return resp, err
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, left: l.answer}
	return resp, nil
}

// limitedBody fails when there is more to read than left. An [io.LimitReader] would end, as if
// that was all.
type limitedBody struct {
	io.ReadCloser
	left int64
}

// Read implements [io.Reader].
func (b *limitedBody) Read(into []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	// One byte more shows whether there is more.
	n, err := b.ReadCloser.Read(into[:min(int64(len(into)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
