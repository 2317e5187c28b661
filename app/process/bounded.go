package process

import (
	"context"
	"fmt"
	"io"
	"math"
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
	limit := int64(math.MaxInt64)
	if request.Method != http.MethodGet {
		limit = maxWriteResponse
	}
	response.Body = &boundedBody{response.Body, limit, cancel}
	return response, nil
}

// boundedBody is the body of a response. Closing it ends the request.
type boundedBody struct {
	io.ReadCloser
	remaining int64
	end       context.CancelFunc
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.remaining -= int64(n); b.remaining < 0 {
		return 0, fmt.Errorf("the response to a write is larger than %d bytes", maxWriteResponse)
	}
	return n, err
}

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
