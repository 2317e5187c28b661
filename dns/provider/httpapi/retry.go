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

// maxRetryAfter limits Retry-After. If a server asks for more, the request fails at once, and the
// publisher tries again later.
const maxRetryAfter = 30 * time.Second

// Retry says how often and when a request is sent.
type Retry struct {
	// Tries limits the attempts.
	Tries int
	// FirstPause is the time before the second attempt. It doubles with each further one.
	FirstPause time.Duration
	// Again reports whether a retry may help after an error; nil means [Passing].
	Again func(error) bool
}

// Do calls send until it succeeds, or a retry is useless. A longer Retry-After of the server is
// honoured.
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

// Passing reports whether a retry may help: the server failed, has too many requests, or didn't
// respond.
func Passing(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Status >= 500 || status.Status == http.StatusTooManyRequests
	}
	var certificate *tls.CertificateVerificationError
	return Unreachable(err) && !errors.As(err, &certificate)
}

// Unreachable reports whether [Do] failed without a response.
func Unreachable(err error) bool {
	var transport *url.Error
	unsent := errors.Is(err, provider.ErrDryRun) || errors.Is(err, ErrTooLarge)
	return errors.As(err, &transport) && !unsent
}
