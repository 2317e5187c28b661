package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxWriteResponse limits a response to a write, in bytes: several times the API server's limit of an
// object.
const maxWriteResponse = 16 << 20

// timeLimited limits the time of requests, including the response body. The timeout of an
// http.Client needs two goroutines for each request. Responses to writes are also limited in size;
// those to reads can be lists.
type timeLimited struct {
	next  http.RoundTripper
	limit time.Duration
}

// WrappedRoundTripper lets client-go find the connections and close them.
func (b *timeLimited) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip implements http.RoundTripper.
func (b *timeLimited) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), b.limit)
	response, err := b.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	if request.Method != http.MethodGet {
		response.Body = http.MaxBytesReader(nil, response.Body, maxWriteResponse)
	}
	response.Body = &timedBody{response.Body, cancel}
	return response, nil
}

// timedBody is the body of a response. Closing it ends the request.
type timedBody struct {
	io.ReadCloser
	end context.CancelFunc
}

// Read implements io.Reader. The error of net/http would be about a request.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fmt.Errorf("the response to a write is larger than %d bytes", large.Limit)
	}
	return n, err
}

// Close implements io.Closer.
func (b *timedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
