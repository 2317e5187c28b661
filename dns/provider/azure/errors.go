package azure

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

// saidSize is how much of a message is repeated, in bytes.
const saidSize = 1024

// apiError is an answer that isn't success.
type apiError struct {
	status                int
	code, message, advice string
	// outcome says what became of the change; nil is for unknown.
	outcome error
}

// Error implements error. It has nothing that differs from one time to the next, such as the ID
// of the request, so that the same failure has the same text.
func (e *apiError) Error() string {
	said := fmt.Sprintf("Azure answered with status %d", e.status)
	if e.code != "" {
		said += fmt.Sprintf(" %q", e.code)
	}
	return httpapi.ErrorText(said, e.message, e.advice)
}

// Unwrap returns the outcome.
func (e *apiError) Unwrap() error { return e.outcome }

func shorten(s string) string { return sanitize.Shorten(s, saidSize) }

// failure returns the error for a request that failed (spec/clouds.md §4.7). Right is what the
// credentials have to permit.
func failure(err error, right string) error {
	if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok {
		// It is that of the gate.
		return throttled
	}
	answer, ok := errors.AsType[*azcore.ResponseError](err)
	if !ok || answer.RawResponse == nil {
		return err
	}
	e := &apiError{status: answer.StatusCode, code: shorten(answer.ErrorCode), outcome: httpapi.Outcome(answer.StatusCode, answer.RawResponse.Header)}
	said := body(answer.RawResponse)
	e.message = shorten(cmp.Or(said.Error.Message, said.Message))
	switch e.status {
	case http.StatusUnauthorized:
		e.advice = "check the credentials in --azure-config-file"
	case http.StatusForbidden:
		e.advice = "give the identity the right " + right + ", as the roles DNS Zone Contributor and Private DNS Zone Contributor have it"
	case http.StatusNotFound:
		e.outcome, e.advice = provider.ErrStale, "the zone or the resource group was deleted, or is another one"
	case http.StatusConflict, http.StatusPreconditionFailed:
		e.outcome = provider.ErrStale
	case http.StatusTooManyRequests:
		e.advice = "other programs may use up the requests of the subscription"
	}
	return e
}

// missing reports whether an error is that there is no such thing.
func missing(err error) bool {
	answer, ok := errors.AsType[*azcore.ResponseError](err)
	return ok && answer.StatusCode == http.StatusNotFound
}

// said is the body of an error: in an object, or bare.
type said struct {
	Error   message `json:"error"`
	Message string  `json:"message"`
}

type message struct {
	Message string `json:"message"`
}

// body reads the body of an answer, which the SDK has kept.
func body(resp *http.Response) said {
	var s said
	// What can't be read says nothing.
	_ = json.Unmarshal(kept(resp), &s)
	return s
}

// kept returns the body of an answer that the SDK has read, and leaves it there.
func kept(resp *http.Response) []byte {
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	return text
}

// tokenFailure returns the error for a token that can't be had. Then nothing was sent.
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
		var answer struct {
			Code        string `json:"error"`
			Description string `json:"error_description"`
		}
		if json.Unmarshal(kept(failed.RawResponse), &answer) == nil && answer.Code != "" {
			// The rest of the description is IDs and the time.
			description, _, _ := strings.Cut(answer.Description, " Trace ID:")
			text = shorten(answer.Code + ": " + strings.TrimSpace(description))
		}
	}
	return fmt.Errorf("%w: get a token of Azure: %q: check the credentials in --azure-config-file", class, text)
}

// retries says which requests the SDK sends again. One that writes is only sent again after an
// answer that says that nothing was changed; after any other failure the record set is read
// first.
func (a *Access) retries(writes bool) policy.RetryOptions {
	return policy.RetryOptions{
		MaxRetries: a.Retries, MaxRetryDelay: longestHold, TryTimeout: tryTimeout,
		ShouldRetry: func(resp *http.Response, err error) bool {
			if err != nil {
				return !writes && !errors.Is(err, errElsewhere) && !errors.Is(err, provider.ErrThrottled) && httpapi.Passing(err)
			}
			throttled := errors.Is(httpapi.Outcome(resp.StatusCode, resp.Header), provider.ErrThrottled)
			return throttled || !writes && (resp.StatusCode >= 500 || resp.StatusCode == http.StatusRequestTimeout)
		},
	}
}
