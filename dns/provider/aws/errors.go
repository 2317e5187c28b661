package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

// maxMessage limits the quoted text of Route 53 in bytes.
const maxMessage = 1024

// rejected are the error codes for changes that Route 53 refuses (spec/clouds.md §1.8).
var rejected = []string{"InvalidInput", "ValidationError", "ValidationException"}

// apiError is a failed response of Route 53.
type apiError struct {
	code, message, advice string
	// outcome is the class of the error for the changes; nil means unknown.
	outcome error
}

// Error implements error. The text has nothing that changes with each request, such as its ID, so that equal
// failures have equal texts.
func (e *apiError) Error() string {
	return httpapi.ErrorText("Route 53 answered "+e.code, e.message, e.advice)
}

// Unwrap returns the outcome.
func (e *apiError) Unwrap() error { return e.outcome }

// invalidBatch means that Route 53 refuses the whole batch.
type invalidBatch struct{ messages []string }

// Error implements error.
func (e *invalidBatch) Error() string {
	return fmt.Sprintf("Route 53 answered InvalidChangeBatch and %q", shorten(strings.Join(e.messages, ", ")))
}

// Unwrap returns the class of the error.
func (e *invalidBatch) Unwrap() error { return provider.ErrRejected }

func shorten(s string) string { return sanitize.Shorten(s, maxMessage) }

// failure returns the error for a failed action. resource is the ARN of its zone.
func failure(err error, action, resource string) error {
	if errors.Is(err, provider.ErrDryRun) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if large := httpapi.TooLarge(err); large != nil {
		return fmt.Errorf("the response of Route 53 to %s: %w", action, large)
	}
	if invalid, ok := errors.AsType[*types.InvalidChangeBatch](err); ok {
		messages := invalid.Messages
		if len(messages) == 0 {
			messages = []string{invalid.ErrorMessage()}
		}
		return &invalidBatch{messages: messages}
	}
	response, responded := errors.AsType[*smithyhttp.ResponseError](err)
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		e := classify(api, action, resource)
		if e.outcome == nil && responded && response.HTTPStatusCode() == http.StatusBadRequest {
			// Status 400 with an unknown code is a refusal, for example of more records than a zone may have.
			// The codes for other reasons are known.
			e.outcome = provider.ErrRejected
		}
		if e.outcome != nil || e.code != "UnknownError" {
			return e
		}
	}
	if responded && response.Response != nil && response.Response.Response != nil {
		bare := &http.Response{StatusCode: response.HTTPStatusCode(), Header: response.Response.Header, Body: http.NoBody}
		return httpapi.NewStatusError("Route 53", bare)
	}
	return err
}

// classify returns the error for a response with a code.
func classify(api smithy.APIError, action, resource string) *apiError {
	e := &apiError{code: cmp.Or(api.ErrorCode(), "UnknownError"), message: shorten(api.ErrorMessage())}
	switch {
	case awsaccess.IsThrottled(e.code):
		e.outcome = &provider.ThrottledError{}
		e.advice = "other programs may use up the five requests a second of the account"
	case awsaccess.IsForbidden(e.code):
		e.outcome = provider.ErrCredentials
		e.advice = fmt.Sprintf("allow the action route53:%s for %s", action, resource)
	case awsaccess.IsUnauthenticated(e.code):
		e.outcome = provider.ErrCredentials
		e.advice = "check the credentials of AWS, and the clock"
		// The message may repeat the request, including a token.
		e.message = ""
	case slices.Contains(rejected, e.code):
		e.outcome = provider.ErrRejected
	case e.code == "NoSuchHostedZone":
		e.outcome = provider.ErrStale
		e.advice = "the zone was deleted, or is of another account"
	}
	return e
}
