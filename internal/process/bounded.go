package process

import (
	"context"
	"io"
	"net/http"
	"time"
)

// bounded ends requests that take longer than the limit, until the end of the answer. The
// timeout of an http.Client does the same, but needs two goroutines for each request.
type bounded struct {
	next  http.RoundTripper
	limit time.Duration
}

// WrappedRoundTripper lets client-go find the connections and close them.
func (b *bounded) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), b.limit)
	response, err := b.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	response.Body = &boundedBody{response.Body, cancel}
	return response, nil
}

// boundedBody is the body of an answer. The request ends when it is closed.
type boundedBody struct {
	io.ReadCloser
	end context.CancelFunc
}

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
