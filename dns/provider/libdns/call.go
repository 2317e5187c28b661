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

// zoneLister is what modules are that can list zones.
type zoneLister = lib.ZoneLister

// maxText is how many bytes of an error are looked at. Fewer of them are shown.
const maxText = 16 << 10

// defaultPause is how long to wait after an error about too many requests that doesn't say.
const defaultPause = time.Minute

// caller calls a module. Each call is watched on its way to the server: the errors of modules are
// texts, and the statuses of the answers say more.
type caller struct {
	client    module.Client
	transport http.RoundTripper
	// secrets are texts that no error may show.
	secrets []string
	// denied is as in [module.Module].
	denied string
}

// call has a function call the module. The error says what became of the last request, with
// [provider.ErrRejected], [provider.ErrCredentials] or [provider.ErrThrottled]. Of a call that
// changes several records, some may have been changed before. Other errors, such as AtomicErr of
// libdns, say nothing that can be trusted.
func (c *caller) call(ctx context.Context, what string, f func(context.Context) error) (err error) {
	return c.watched(ctx, &watch{next: c.transport}, what, f)
}

// list is call for a function that only lists. The answers of all its requests together need no
// more memory than the record sets of a zone may, and no page is asked for twice.
func (c *caller) list(ctx context.Context, b *listlimit.Budget, what string, f func(context.Context) error) error {
	return c.watched(ctx, &watch{next: c.transport, listed: &listed{left: int64(b.ZoneBytes()), limit: b.ZoneBytes(), seen: map[string]bool{}}}, what, f)
}

// watched is call with what watches it.
func (c *caller) watched(ctx context.Context, watched *watch, what string, f func(context.Context) error) (err error) {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: the module panics: %s", what, c.show(fmt.Sprint(p)))
		}
	}()
	if err := f(route.Via(ctx, watched)); err != nil {
		text := err.Error()
		text = text[:min(len(text), maxText)]
		said := errors.New(c.show(text))
		outcome := watched.outcome(text)
		if outcome == nil && c.denied != "" && strings.Contains(text, c.denied) {
			outcome = provider.ErrCredentials
		}
		if errors.Is(outcome, listlimit.ErrExceeded) {
			return fmt.Errorf("%s: %w", what, outcome)
		}
		if outcome != nil {
			return fmt.Errorf("%s: %w: %w", what, outcome, said)
		}
		if stopped := ctx.Err(); stopped != nil {
			return fmt.Errorf("%s: %w: %w", what, stopped, said)
		}
		return fmt.Errorf("%s: %w", what, said)
	}
	return nil
}

// leastSecret is how long a setting is that is taken for a secret. Shorter ones, such as numbers,
// would be found in every text.
const leastSecret = 4

// show returns a text of the module or of its server, quoted, bounded, and without secrets.
func (c *caller) show(text string) string {
	for _, secret := range c.secrets {
		if len(secret) >= leastSecret {
			text = strings.ReplaceAll(text, secret, "[...]")
		}
	}
	return sanitize.Quote(text)
}

// watch is a transport for the requests of one call.
type watch struct {
	next http.RoundTripper

	mu sync.Mutex
	// sent is true after the first request, and last what its or a later answer says: an error
	// as of [httpapi.Outcome], or nil.
	sent bool
	last error
	// stop is why no more requests are sent; nil if nothing is wrong.
	stop error
	// listed is nil for calls that don't only list.
	listed *listed
}

// RoundTrip implements [http.RoundTripper]. After an answer that there are too many requests, no
// more are sent: modules that wait and try again would wait as long as the server likes. There is
// no redirection either, because credentials would go along.
func (w *watch) RoundTrip(req *http.Request) (*http.Response, error) {
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
	if w.listed != nil && resp.StatusCode/100 == 2 {
		if err := w.listed.begin(req, resp, w.end); err != nil {
			_ = resp.Body.Close()
			w.end(err)
			return nil, err
		}
	}
	return resp, nil
}

// unsent returns what an error of the transport says if nothing was sent.
func unsent(err error) error {
	for _, known := range []error{provider.ErrDryRun, provider.ErrRejected} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

func (w *watch) note(outcome error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = outcome
}

func (w *watch) end(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop = why
}

// outcome returns what the failure of a call means: what the last answer says, or what the text
// says of too many requests.
func (w *watch) outcome(said string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.stop != nil:
		return w.stop
	case w.last != nil:
		return w.last
	default:
		return throttledText(said)
	}
}

var (
	throttledWords = regexp.MustCompile(`(?i)\b429\b|too many|rate.?limit|\brate exceeded|throttl|retry.after`)
	retryAfter     = regexp.MustCompile(`(?i)retry.after[^0-9a-z]{0,4}([0-9]{1,5})`)
)

// throttledText returns a [provider.ThrottledError] if a text is about too many requests.
func throttledText(said string) error {
	if !throttledWords.MatchString(said) {
		return nil
	}
	after := defaultPause
	if found := retryAfter.FindStringSubmatch(said); found != nil {
		// The pattern has digits only, and few.
		seconds, _ := strconv.Atoi(found[1])
		after = time.Duration(seconds) * time.Second
	}
	return &provider.ThrottledError{After: after}
}
