package libdns

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/dns/provider/libdns/route"
	"github.com/signpostd/signpost/internal/sanitize"
)

// zoneLister is a module that can list zones.
type zoneLister = lib.ZoneLister

// maxErrorText limits the evaluated text of an error in bytes. Less of it is shown.
const maxErrorText = 16 << 10

// defaultPause is the pause after throttling without a time.
const defaultPause = time.Minute

// caller calls a module. A transport records the statuses of the responses to each call, because
// errors of modules are only texts.
type caller struct {
	client    module.Client
	transport http.RoundTripper
	// secrets are texts that errors must not show.
	secrets []string
	// denied is as in [module.Module].
	denied string
}

// call calls a function with the module. Its error wraps the class of the last response:
// [provider.ErrRejected], [provider.ErrCredentials] or [provider.ErrThrottled]. If the call changes
// several records, some may have been changed before. Other errors of modules, such as
// libdns.AtomicErr, aren't reliable.
func (c *caller) call(ctx context.Context, what string, f func(context.Context) error) (err error) {
	return c.callThrough(ctx, &callTransport{next: c.transport}, what, f)
}

// list is call for a function that only lists. The responses together may need as much memory as
// the record sets of a zone, and no page may be requested twice.
func (c *caller) list(ctx context.Context, b *listlimit.Budget, what string, f func(context.Context) error) error {
	return c.callThrough(ctx, &callTransport{next: c.transport, listingLimit: &listingLimit{left: int64(b.ZoneBytes()), limit: b.ZoneBytes(), seen: map[string]bool{}}}, what, f)
}

// callThrough is call with a transport.
func (c *caller) callThrough(ctx context.Context, t *callTransport, what string, f func(context.Context) error) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: the module panics: %s", what, c.show(fmt.Sprint(p)))
		}
	}()
	if err := f(route.Via(ctx, t)); err != nil {
		text := err.Error()
		text = text[:min(len(text), maxErrorText)]
		message := errors.New(c.show(text))
		outcome := t.outcome(text)
		if outcome == nil && c.denied != "" && strings.Contains(text, c.denied) {
			outcome = provider.ErrCredentials
		}
		if errors.Is(outcome, listlimit.ErrExceeded) {
			return fmt.Errorf("%s: %w", what, outcome)
		}
		if outcome != nil {
			return fmt.Errorf("%s: %w: %w", what, outcome, message)
		}
		if stopped := ctx.Err(); stopped != nil {
			return fmt.Errorf("%s: %w: %w", what, stopped, message)
		}
		return fmt.Errorf("%s: %w", what, message)
	}
	return nil
}

// minSecret is the minimum length of a secret. Shorter settings, such as numbers, occur in every
// text.
const minSecret = 4

// show returns a text of the module or its server, quoted, cut, and without secrets.
func (c *caller) show(text string) string {
	for _, secret := range c.secrets {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, "[...]")
		}
	}
	return sanitize.Quote(text)
}

type callTransport struct {
	next http.RoundTripper

	mu sync.Mutex
	// sent is true after the first request. last is the error of [httpapi.Outcome] for the last
	// response, or nil.
	sent bool
	last error
	// stop is the error for all further requests, or nil.
	stop error
	// listingLimit is nil unless the call only lists.
	listingLimit *listingLimit
}

// RoundTrip implements [http.RoundTripper]. After throttling it sends no more requests, because
// modules that retry would wait without a limit. It follows no redirects, because the request to
// the new location would have the credentials.
func (w *callTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.sent, w.last = true, nil
	stop := w.stop
	w.mu.Unlock()
	if stop != nil {
		return nil, httpapi.Unsent(req, stop)
	}
	resp, err := w.next.RoundTrip(req)
	if err != nil {
		w.note(unsent(err))
		return nil, err
	}
	outcome := error(nil)
	if resp.StatusCode/100 > 2 {
		outcome = httpapi.Outcome(resp.StatusCode, resp.Header)
	}
	w.note(outcome)
	if errors.Is(outcome, provider.ErrThrottled) {
		_ = resp.Body.Close()
		w.end(outcome)
		return nil, outcome
	}
	if resp.StatusCode/100 == 3 && resp.Header.Get("Location") != "" {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the server answered with status %d, a redirection, which isn't followed", resp.StatusCode)
	}
	if w.listingLimit != nil && resp.StatusCode/100 == 2 {
		if err := w.listingLimit.begin(req, resp, w.end); err != nil {
			_ = resp.Body.Close()
			w.end(err)
			return nil, err
		}
	}
	return resp, nil
}

// unsent returns the class of a transport error if nothing was sent.
func unsent(err error) error {
	for _, known := range []error{provider.ErrDryRun, provider.ErrRejected} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

func (w *callTransport) note(outcome error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = outcome
}

func (w *callTransport) end(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop = why
}

// outcome returns the class of a failed call: that of the last response, or throttling if the text
// says so.
func (w *callTransport) outcome(message string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stop != nil:
		return w.stop
	case w.last != nil:
		return w.last
	default:
		return throttledText(message)
	}
}

var (
	throttledWords = regexp.MustCompile(`(?i)\b429\b|too many|rate.?limit|\brate exceeded|throttl|retry.after`)
	retryAfter     = regexp.MustCompile(`(?i)retry.after[^0-9a-z]{0,4}([0-9]{1,5})`)
)

// throttledText returns a [provider.ThrottledError] if a text is about throttling.
func throttledText(message string) error {
	if !throttledWords.MatchString(message) {
		return nil
	}
	after := defaultPause
	if found := retryAfter.FindStringSubmatch(message); found != nil {
		// The pattern has at most five digits, so parsing can't fail.
		seconds, _ := strconv.Atoi(found[1])
		after = time.Duration(seconds) * time.Second
	}
	return &provider.ThrottledError{After: after}
}
