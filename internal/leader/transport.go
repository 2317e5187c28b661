package leader

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Wrap returns a RoundTripper for requests that change something (all but GET, HEAD and OPTIONS). It refuses
// them while the fence is closed, and cancels them if the fence closes before their response. Both errors
// wrap [ErrNotLeading], which http.Client and client-go preserve.
//
// Wrap checks the fence before it passes a request to next, and again before each read of the body. So a
// process that is paused in between sends an incomplete request, which the API server doesn't carry out. A
// complete request may still be carried out, which is why the lease lasts longer than the renew deadline.
//
// Use it with rest.Config.Wrap. Response bodies must be closed, as always.
func (f *Fence) Wrap(next http.RoundTripper) http.RoundTripper {
	if f.always {
		return next
	}
	return &transport{fence: f, next: next}
}

type transport struct {
	fence *Fence
	next  http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport whose connections it closes.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !changes(request.Method) {
		return t.next.RoundTrip(request)
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	leave, err := t.fence.enter(cancel)
	if err != nil {
		cancel(nil)
		if request.Body != nil {
			_ = request.Body.Close() // a RoundTripper must always close the body
		}
		return nil, err
	}
	done := func() {
		leave()
		cancel(nil)
	}
	response, err := t.next.RoundTrip(t.guard(request.WithContext(ctx)))
	if err != nil {
		err = causeOf(ctx, err)
		done()
		return nil, err
	}
	response.Body = &responseBody{ReadCloser: response.Body, ctx: ctx, done: done}
	return response, nil
}

func changes(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// guard puts the fence in front of the body of a request, and of its copies for retries on other connections.
func (t *transport) guard(request *http.Request) *http.Request {
	if request.Body == nil || request.Body == http.NoBody {
		return request
	}
	guarded := func(body io.ReadCloser) io.ReadCloser {
		return &requestBody{ReadCloser: body, ctx: request.Context(), fence: t.fence}
	}
	request.Body = guarded(request.Body)
	if again := request.GetBody; again != nil {
		request.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return guarded(body), nil
		}
	}
	return request
}

// causeOf returns the cause of ctx if that is the end of leadership, else err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrNotLeading) {
		return cause
	}
	return err
}

// requestBody is the body of a request. It keeps the context of the request, as http.Request does.
type requestBody struct {
	io.ReadCloser
	ctx   context.Context
	fence *Fence
}

// Read implements io.Reader.
func (o *requestBody) Read(p []byte) (int, error) {
	if err := o.fence.Check(); err != nil {
		return 0, err
	}
	// The fence may be open again, for a later term than that of the request.
	if err := context.Cause(o.ctx); err != nil {
		return 0, err
	}
	return o.ReadCloser.Read(p)
}

// responseBody is a response body. Closing it ends the request.
type responseBody struct {
	io.ReadCloser
	ctx  context.Context
	done func()
}

// Read implements io.Reader.
func (a *responseBody) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = causeOf(a.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (a *responseBody) Close() error {
	defer a.done()
	return a.ReadCloser.Close()
}
