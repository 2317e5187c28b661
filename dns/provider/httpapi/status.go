package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

// maxMessage limits how much of the body of an error is repeated, in bytes. Unprintable characters
// become blanks.
const maxMessage = 1024

// StatusError is the error for a failed status. It wraps its Outcome.
type StatusError struct {
	// Server is the server's product, such as "PowerDNS".
	Server string
	Status int
	// Said is the server's error message; may be empty.
	Said string
	// Advice says what the user can do; may be empty.
	Advice string
	// Outcome is [provider.ErrRejected], [provider.ErrCredentials] or a [provider.ThrottledError] if
	// the status says that nothing was changed, and why. It is nil for all other statuses.
	Outcome error
	// RetryAfter is the pause that the server asks for; zero means none.
	RetryAfter time.Duration
}

// NewStatusError returns the error for a response. Said is the beginning of the body, and Outcome
// that of [Outcome]; the caller replaces them if it knows more.
func NewStatusError(server string, resp *http.Response) *StatusError {
	// If the body can't be read, the status must be enough.
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	return &StatusError{
		Server: server, Status: resp.StatusCode, Said: sanitize.Line(string(said), maxMessage),
		Outcome: Outcome(resp.StatusCode, resp.Header), RetryAfter: retryAfter(resp.Header, time.Now()),
	}
}

// Error implements error.
func (e *StatusError) Error() string {
	return ErrorText(fmt.Sprintf("%s answered with status %d", e.Server, e.Status), e.Said, e.Advice)
}

// ErrorText returns the text of an error: the response, the server's message in quotes, and what the user can
// do. The last two may be empty.
func ErrorText(response, message, advice string) string {
	if message != "" {
		response += fmt.Sprintf(" and %q", message)
	}
	if advice != "" {
		response += ": " + advice
	}
	return response
}

// Unwrap returns the outcome.
func (e *StatusError) Unwrap() error { return e.Outcome }

// Outcome returns what a response says about the changes of its request (RFC 9110, 15.5 and 15.6.4;
// RFC 6585, 4): [provider.ErrCredentials], [provider.ErrRejected], or a [provider.ThrottledError]
// with the time of Retry-After. It is nil if the outcome is unknown. A provider with an SDK joins
// it with the error of the SDK.
func Outcome(status int, header http.Header) error {
	after := retryAfter(header, time.Now())
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return provider.ErrCredentials
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && after > 0:
		return &provider.ThrottledError{After: after}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		// These are temporary: the same request may succeed later.
		return nil
	case status/100 == 4:
		return provider.ErrRejected
	}
	return nil
}

// retryAfter parses the header Retry-After (RFC 9110, 10.2.3): seconds, or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// Incomplete returns the error for a successful response that lacks a required part. SDKs accept any response
// with a successful status, such as one of a proxy. The outcome of its request is unknown. response names
// the response, such as "the response to ListHostedZones", and server the service.
func Incomplete(response, part, server string) error {
	return fmt.Errorf("%s has no %s: it may come from a proxy or from another server than %s", response, part, server)
}
