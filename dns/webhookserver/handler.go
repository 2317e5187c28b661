package webhookserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/dns/provider/webhook"
	"github.com/signpostd/signpost/internal/sanitize"
)

// decodedFactor is by how much the memory of a decoded request may exceed the size of its body. A
// usual record set takes five times as much, and an empty one seventy times.
const decodedFactor = 10

// operation handles a request. The result is sent as JSON; nil means no body.
type operation func(ctx context.Context, body io.Reader) (response any, err error)

type requestError struct{ err error }

// Error implements error.
func (e requestError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong with the request.
func (e requestError) Unwrap() error { return e.err }

// handle returns a handler for the operations of a path, by method.
func (s *Server) handle(operations map[string]operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		run := operations[r.Method]
		if run == nil {
			http.Error(w, fmt.Sprintf("%s is not a method of %s", r.Method, r.URL.Path), http.StatusBadRequest)
			return
		}
		body := r.Body
		if s.config.MaxBodySize > 0 {
			body = httpapi.LimitDecoded(http.MaxBytesReader(w, body, s.config.MaxBodySize), decodedFactor*s.config.MaxBodySize)
		}
		response, err := s.call(r.Context(), run, body)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.respond(w, r, response)
	}
}

// call runs an operation when no other one is running.
func (s *Server) call(ctx context.Context, run operation, body io.Reader) (any, error) {
	if err := s.turn.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait for another request: %w", err)
	}
	defer s.turn.Release(1)
	return run(ctx, body)
}

func (s *Server) respond(w http.ResponseWriter, r *http.Request, response any) {
	if response == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	text, err := json.Marshal(response)
	if err != nil {
		s.fail(w, r, fmt.Errorf("encode the response: %w", err))
		return
	}
	w.Header().Set("Content-Type", webhook.MediaType)
	// An error means that the client has gone.
	_, _ = w.Write(text)
}

// fail responds with an error of the provider or of the request.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	var large *http.MaxBytesError
	var request requestError
	switch {
	case errors.As(err, &large), errors.Is(err, httpapi.ErrTooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.As(err, &request):
		status = http.StatusBadRequest
	case errors.Is(err, provider.ErrThrottled):
		status = http.StatusServiceUnavailable
		if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok && throttled.After > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(throttled.After.Seconds()))))
		}
	default:
		s.config.Log.Error("A webhook request failed", "method", r.Method, "path", r.URL.Path, "err", said(err))
	}
	http.Error(w, said(err), status)
}

// maxSaid limits the text of an error, in bytes: each change of a request may have its own.
const maxSaid = 16 << 10

func said(err error) string { return sanitize.Shorten(err.Error(), maxSaid) }

func decode(body io.Reader, into any) error {
	if err := httpapi.Decode(body, into); err != nil {
		return requestError{err: fmt.Errorf("decode the request: %w", err)}
	}
	return nil
}
