package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/pause"
)

// maxRetryAfter is the longest time that a server may ask for with Retry-After. If it asks for
// more, the request fails at once, and the publisher tries again later.
const maxRetryAfter = 30 * time.Second

// Retry says how often a request is sent, and when.
type Retry struct {
	// Tries is how often the request is sent at most.
	Tries int
	// FirstPause is the time before the second try; each further pause is twice as long.
	FirstPause time.Duration
	// Again reports whether another try may help after an error; nil is [Passing].
	Again func(error) bool
}

// Do calls send until it succeeds, or another try is of no use. Where the server asks for a
// longer pause with Retry-After, that is the pause.
func (r Retry) Do(ctx context.Context, send func() error) error {
	again := r.Again
	if again == nil {
		again = Passing
	}
	delay := r.FirstPause
	for try := 1; ; try++ {
		err := send()
		if err == nil || try == r.Tries || ctx.Err() != nil || !again(err) {
			return err
		}
		this := delay
		if status := (*StatusError)(nil); errors.As(err, &status) {
			if status.RetryAfter > maxRetryAfter {
				return err
			}
			this = max(this, status.RetryAfter)
		}
		if stopped := pause.For(ctx, this); stopped != nil {
			return fmt.Errorf("%w, after %w", stopped, err)
		}
		delay *= 2
	}
}

// Passing reports whether an error may be gone when the request is sent again: the server
// failed, has too many requests, or didn't answer.
func Passing(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Status >= 500 || status.Status == http.StatusTooManyRequests
	}
	var certificate *tls.CertificateVerificationError
	return Unreachable(err) && !errors.As(err, &certificate)
}

// Unreachable reports whether an error of [Do] is that no answer came.
func Unreachable(err error) bool {
	var transport *url.Error
	unsent := errors.Is(err, provider.ErrDryRun) || errors.Is(err, ErrTooLarge)
	return errors.As(err, &transport) && !unsent
}
