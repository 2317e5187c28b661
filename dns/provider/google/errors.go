package google

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/api/googleapi"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// maxMessage limits the quoted text of a message in bytes.
	maxMessage = 512
	// maxReasons limits the evaluated errors of a response.
	maxReasons    = 5000
	maxShownItems = 3
)

// Reasons that say that nothing was changed, and why (spec/clouds.md §3.8).
var (
	throttledReasons = []string{"rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "concurrentLimitExceeded", "servingLimitExceeded"}
	staleReasons     = []string{"alreadyExists", "notFound", "conditionNotMet", "preconditionFailed"}
)

const quotaExceeded = "quotaExceeded"

// ratePattern matches the message of quotaExceeded if the quota is a request rate.
var ratePattern = regexp.MustCompile(`(?i)quota metric|per (second|minute|hour|day|100 seconds)|\brate\b`)

// apiError is a failed response of Cloud DNS.
type apiError struct {
	status int
	// items are the errors of the response; may be empty.
	items  []googleapi.ErrorItem
	advice string
	// outcome is the class of the error for the changes; nil means unknown.
	outcome error
}

// Error implements error. Equal failures have equal texts.
func (e *apiError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Cloud DNS answered with status %d", e.status)
	for i, item := range e.items {
		if i == maxShownItems {
			fmt.Fprintf(&b, ", and %d more", len(e.items)-maxShownItems)
			break
		}
		fmt.Fprintf(&b, ", %s %q", shorten(item.Reason), shorten(item.Message))
	}
	if e.advice != "" {
		b.WriteString(": " + e.advice)
	}
	return b.String()
}

// Unwrap returns the outcome.
func (e *apiError) Unwrap() error { return e.outcome }

// refusal returns e if the response refuses the changes of the request, or nil.
func (e *apiError) refusal() *apiError {
	if errors.Is(e.outcome, provider.ErrRejected) || errors.Is(e.outcome, provider.ErrStale) && !e.zoneGone() {
		return e
	}
	return nil
}

// zoneGone reports whether the zone doesn't exist.
func (e *apiError) zoneGone() bool {
	return e.status == http.StatusNotFound && !slices.ContainsFunc(e.items, func(i googleapi.ErrorItem) bool { return changeRef.MatchString(i.Message) })
}

func shorten(s string) string { return sanitize.Shorten(s, maxMessage) }

// failure returns the error for a failed request. right is the permission that the request needs, and what
// its resource.
func failure(err error, right, what string) error {
	api, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		return err
	}
	e := &apiError{status: api.Code, items: api.Errors}
	if len(e.items) > maxReasons {
		e.items = e.items[:maxReasons]
	}
	if len(e.items) == 0 && api.Message != "" {
		e.items = []googleapi.ErrorItem{{Reason: "error", Message: api.Message}}
	}
	e.classify(api.Header, right, what)
	return e
}

// classify sets the class of the error, and the advice for the user.
func (e *apiError) classify(header http.Header, right, what string) {
	switch {
	case e.status == http.StatusTooManyRequests || e.status == http.StatusForbidden && e.isRateLimit():
		e.outcome = httpapi.Outcome(http.StatusTooManyRequests, header)
		e.advice = "other programs may use up the quotas of the project"
	case e.status == http.StatusForbidden && e.is(quotaExceeded):
		e.outcome = provider.ErrRejected
	case e.status == http.StatusUnauthorized:
		e.outcome = provider.ErrCredentials
		e.advice = "check the credentials of Google, and the clock"
	case e.status == http.StatusForbidden && e.is("accessNotConfigured"):
		e.outcome = provider.ErrCredentials
		e.advice = "enable the Cloud DNS API for " + what
	case e.status == http.StatusForbidden:
		e.outcome = provider.ErrCredentials
		e.advice = fmt.Sprintf("allow %s for %s, as the role roles/dns.admin does", right, what)
	case e.status == http.StatusConflict, e.status == http.StatusPreconditionFailed:
		e.outcome = provider.ErrStale
	case e.status == http.StatusNotFound:
		e.outcome = provider.ErrStale
		if e.zoneGone() {
			e.advice = "the zone was deleted, or is of another project"
		}
	default:
		e.outcome = httpapi.Outcome(e.status, header)
	}
}

// isRateLimit reports whether there were too many requests.
func (e *apiError) isRateLimit() bool {
	return slices.ContainsFunc(e.items, func(i googleapi.ErrorItem) bool {
		return slices.Contains(throttledReasons, i.Reason) || i.Reason == quotaExceeded && ratePattern.MatchString(i.Message)
	})
}

func (e *apiError) is(reason string) bool {
	return slices.ContainsFunc(e.items, func(i googleapi.ErrorItem) bool { return i.Reason == reason })
}

// isTransient reports whether a read may succeed if it is retried.
func isTransient(err error) bool {
	if errors.Is(err, context.Canceled) || provider.NothingMade(err) || errors.Is(err, httpapi.ErrTooLarge) {
		return false
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.status >= http.StatusInternalServerError
	}
	return httpapi.Passing(err)
}
