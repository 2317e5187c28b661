package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

// maxMessage limits the quoted text of Azure in bytes.
const maxMessage = 1024

type apiError struct {
	status                int
	code, message, advice string
	// outcome is the class of the error for the change; nil means unknown.
	outcome error
}

// Error implements error. The text has nothing that changes with each request, such as its ID, so that equal
// failures have equal texts.
func (e *apiError) Error() string {
	said := fmt.Sprintf("Azure answered with status %d", e.status)
	if e.code != "" {
		said += fmt.Sprintf(" %q", e.code)
	}
	return httpapi.ErrorText(said, e.message, e.advice)
}

// Unwrap returns the outcome.
func (e *apiError) Unwrap() error { return e.outcome }

func shorten(s string) string { return sanitize.Shorten(s, maxMessage) }

// failure returns the error for a failed request (spec/clouds.md §4.7). right is the permission that the
// request needs.
func failure(err error, right string) error {
	if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok {
		// The error comes from rateLimit, not from a response.
		return throttled
	}
	response, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok || response.RawResponse == nil {
		return err
	}
	e := &apiError{status: response.StatusCode, code: shorten(response.ErrorCode), outcome: httpapi.Outcome(response.StatusCode, response.RawResponse.Header)}
	said := body(response.RawResponse)
	e.message = shorten(cmp.Or(said.Error.Message, said.Message))
	switch e.status {
	case http.StatusUnauthorized:
		e.advice = "check the credentials in --azure-config-file"
	case http.StatusForbidden:
		e.advice = "give the identity the right " + right + ", as the roles DNS Zone Contributor and Private DNS Zone Contributor have it"
	case http.StatusNotFound:
		e.outcome, e.advice = nil, "the response has no error code: it may come from a proxy or another server: check resourceManagerEndpoint in --azure-config-file"
		if e.code != "" {
			e.outcome, e.advice = provider.ErrStale, "the zone or the resource group was deleted, or is another one"
		}
	case http.StatusConflict, http.StatusPreconditionFailed:
		e.outcome = provider.ErrStale
	case http.StatusTooManyRequests:
		e.advice = "other programs may use up the requests of the subscription"
	}
	switch e.code {
	case "ScopeLocked", "RequestDisallowedByPolicy":
		e.outcome, e.advice = provider.ErrRejected, "remove the lock or the policy, or exclude the name"
	}
	return e
}

// missing reports whether an error means that Azure has no such record set. A status 404 without an error
// code is from another server, and says nothing about it.
func missing(err error) bool {
	response, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && response.StatusCode == http.StatusNotFound && response.ErrorCode != ""
}

// incomplete returns the error for a successful response that lacks a required part.
func incomplete(part string) error { return httpapi.Incomplete("the response", part, "Azure") }

// said is the body of a failed response. The message is at the top, or in error.
type said struct {
	Error   message `json:"error"`
	Message string  `json:"message"`
}

type message struct {
	Message string `json:"message"`
}

// body parses the body of a failed response, which the SDK has buffered.
func body(resp *http.Response) said {
	var s said
	// An unreadable body has no message.
	_ = runtime.UnmarshalAsJSON(resp, &s)
	return s
}

// tokenFailure returns the error for a token that couldn't be got. No change was sent then.
func tokenFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	class, text := provider.ErrCredentials, shorten(err.Error())
	if failed, ok := errors.AsType[*azidentity.AuthenticationFailedError](err); ok && failed.RawResponse != nil {
		text = fmt.Sprintf("status %d", failed.RawResponse.StatusCode)
		if throttled := httpapi.Outcome(failed.RawResponse.StatusCode, failed.RawResponse.Header); errors.Is(throttled, provider.ErrThrottled) {
			class = throttled
		}
		var response struct {
			Code        string `json:"error"`
			Description string `json:"error_description"`
		}
		if runtime.UnmarshalAsJSON(failed.RawResponse, &response) == nil && response.Code != "" {
			// After this mark come IDs and the time, which differ each time.
			description, _, _ := strings.Cut(response.Description, " Trace ID:")
			text = shorten(response.Code + ": " + strings.TrimSpace(description))
		}
	}
	return fmt.Errorf("%w: get a token of Azure: %q: check the credentials in --azure-config-file", class, text)
}

// retries returns the SDK's retry rules. A write is only retried if the response says that nothing was
// changed. After any other failure of a write, the caller reads the record set first.
func (a *Access) retries(writes bool) policy.RetryOptions {
	return policy.RetryOptions{
		MaxRetries: a.Retries, MaxRetryDelay: maxPause, TryTimeout: tryTimeout,
		ShouldRetry: func(resp *http.Response, err error) bool {
			if err != nil {
				return !writes && !errors.Is(err, errOtherHost) && !errors.Is(err, provider.ErrThrottled) && httpapi.Passing(err)
			}
			throttled := errors.Is(httpapi.Outcome(resp.StatusCode, resp.Header), provider.ErrThrottled)
			return throttled || !writes && (resp.StatusCode >= 500 || resp.StatusCode == http.StatusRequestTimeout)
		},
	}
}
