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

// saidSize is how much of the body of an error is repeated, in bytes. Characters that can't be printed
// become blanks.
const saidSize = 1024

// StatusError is a status that is not that of success. It wraps its Outcome.
type StatusError struct {
	// Server is who answered, such as "PowerDNS".
	Server string
	Status int
	// Said is what the server said of the error; empty is nothing.
	Said string
	// Advice says what the user can do; it may be empty.
	Advice string
	// Outcome is [provider.ErrRejected], [provider.ErrCredentials] or a
	// [provider.ThrottledError] when the status says that nothing was changed, and why. Nil is
	// for all other statuses.
	Outcome error
	// RetryAfter is how long the server wants not to be asked again; zero when it doesn't say.
	RetryAfter time.Duration
}

// NewStatusError returns the error that an answer stands for. Said is the beginning of the
// body, and Outcome that of [Outcome]; the caller replaces them when it knows more.
func NewStatusError(server string, resp *http.Response) *StatusError {
	// If the body can't be read, the status has to say enough.
	said, _ := io.ReadAll(io.LimitReader(resp.Body, saidSize))
	return &StatusError{
		Server: server, Status: resp.StatusCode, Said: sanitize.Line(string(said), saidSize),
		Outcome: Outcome(resp.StatusCode, resp.Header), RetryAfter: retryAfter(resp.Header, time.Now()),
	}
}

// Error implements error.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s answered with status %d", e.Server, e.Status)
	if e.Said != "" {
		text += fmt.Sprintf(" and %q", e.Said)
	}
	if e.Advice != "" {
		text += ": " + e.Advice
	}
	return text
}

// Unwrap returns the outcome.
func (e *StatusError) Unwrap() error { return e.Outcome }

// Outcome returns what an answer says about the changes of its request (RFC 9110, 15.5 and
// 15.6.4; RFC 6585, 4): [provider.ErrCredentials], [provider.ErrRejected], or a
// [provider.ThrottledError] with the time of Retry-After. It is nil if it isn't known whether
// they were made. A provider with an SDK joins it with the error that the SDK made of the answer.
func Outcome(status int, header http.Header) error {
	after := retryAfter(header, time.Now())
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return provider.ErrCredentials
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && after > 0:
		return &provider.ThrottledError{After: after}
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		// These are about the moment: the same request may succeed later.
		return nil
	case status/100 == 4:
		return provider.ErrRejected
	}
	return nil
}

// retryAfter reads the header of that name (RFC 9110, 10.2.3): seconds, or a date.
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
