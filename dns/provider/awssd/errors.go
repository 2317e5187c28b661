package awssd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

// The errors that say that something isn't as it was when it was listed (spec/clouds.md §2).
var (
	errNoNamespace = fmt.Errorf("%w: the namespace is gone", provider.ErrStale)
	errNoService   = fmt.Errorf("%w: the service is gone", provider.ErrStale)
	errNoInstance  = fmt.Errorf("%w: the instance is gone", provider.ErrStale)
	errInUse       = fmt.Errorf("%w: the service has instances", provider.ErrStale)
)

// errLimit says that there is no room for more.
var errLimit = fmt.Errorf("%w: the quota is used up", provider.ErrRejected)

// errUnknown says that AWS doesn't accept the credentials, whatever is asked for.
var errUnknown = fmt.Errorf("of AWS: %w", provider.ErrCredentials)

// codes has what the codes of Cloud Map say.
var codes = map[string]error{
	"NamespaceNotFound": errNoNamespace, "ServiceNotFound": errNoService, "InstanceNotFound": errNoInstance, "ResourceInUse": errInUse,
	"InvalidInput": provider.ErrRejected, "ResourceLimitExceeded": errLimit, "TooManyTagsException": provider.ErrRejected,
	"ValidationException": provider.ErrRejected, "ValidationError": provider.ErrRejected,
	"RequestLimitExceeded": &provider.ThrottledError{},
}

// apiError is an answer of Cloud Map that isn't success.
type apiError struct {
	code, message, advice string
	// outcome says what became of the request; nil is for unknown.
	outcome error
}

// Error implements error. It has nothing that differs from one time to the next.
func (e *apiError) Error() string {
	said := "Cloud Map answered " + sanitize.Name(e.code)
	if e.message != "" {
		said += " and " + sanitize.Quote(e.message)
	}
	if e.advice != "" {
		said += ": " + e.advice
	}
	return said
}

// Unwrap returns the outcome.
func (e *apiError) Unwrap() error { return e.outcome }

// existsError says that there is a service with a name; id may be empty. Request is the one that
// has created it.
type existsError struct {
	id, request string
	*apiError
}

// Unwrap returns the outcome.
func (e *existsError) Unwrap() error { return e.apiError }

// runningError says that the same request is being carried out already by an operation.
type runningError struct {
	operation string
	*apiError
}

// Unwrap returns the outcome.
func (e *runningError) Unwrap() error { return e.apiError }

// failure returns the error for an action that failed.
func failure(err error, action string) error {
	if errors.Is(err, provider.ErrDryRun) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if large := httpapi.TooLarge(err); large != nil {
		return fmt.Errorf("the answer of Cloud Map to %s: %w", action, large)
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if e := classify(api, action); e.outcome != nil || e.code != "UnknownError" {
			return withID(err, e)
		}
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.Response != nil && answer.Response.Response != nil && answer.HTTPStatusCode() > 0 {
		if answer.HTTPStatusCode()/100 == 2 {
			return fmt.Errorf("the answer of Cloud Map to %s can't be read: %s", action, sanitize.Quote(answer.Err.Error()))
		}
		bare := &http.Response{StatusCode: answer.HTTPStatusCode(), Header: answer.Response.Header, Body: http.NoBody}
		return httpapi.NewStatusError("Cloud Map", bare)
	}
	return err
}

// withID keeps the IDs that an error has.
func withID(err error, e *apiError) error {
	if exists, ok := errors.AsType[*types.ServiceAlreadyExists](err); ok {
		e.outcome = provider.ErrStale
		return &existsError{aws.ToString(exists.ServiceId), aws.ToString(exists.CreatorRequestId), e}
	}
	if running, ok := errors.AsType[*types.DuplicateRequest](err); ok {
		e.outcome = provider.ErrStale
		return &runningError{aws.ToString(running.DuplicateOperationId), e}
	}
	return e
}

// classify returns the error for an answer with a code.
func classify(api smithy.APIError, action string) *apiError {
	e := &apiError{code: cmp.Or(api.ErrorCode(), "UnknownError"), message: api.ErrorMessage()}
	e.outcome = codes[e.code]
	switch {
	case e.outcome != nil:
		if e.code == "ResourceLimitExceeded" {
			e.advice = "a service has 1,000 instances, and a namespace has a quota of its own: have the quota raised, or use another namespace"
		}
	case awsaccess.IsThrottled(e.code):
		e.outcome = &provider.ThrottledError{}
	case awsaccess.IsForbidden(e.code):
		e.outcome = provider.ErrCredentials
		e.advice = "allow the action servicediscovery:" + action
	case awsaccess.IsUnauthenticated(e.code):
		e.outcome = errUnknown
		e.advice = "check the credentials of AWS, and the clock"
		e.message = ""
	}
	return e
}

// operationError is the end of an operation that failed.
type operationError struct {
	code, message string
	outcome       error
}

// newOperationError returns the error for an operation that failed. The codes are in the API
// Reference (API_Operation).
func newOperationError(code, message string) *operationError {
	e := &operationError{code: cmp.Or(code, "FAIL"), message: message}
	switch {
	case code == "THROTTLED_REQUEST":
		e.outcome = &provider.ThrottledError{}
	case slices.Contains([]string{"ACCESS_DENIED", "EXPIRED_TOKEN"}, code):
		e.outcome = provider.ErrCredentials
	}
	return e
}

// Error implements error.
func (e *operationError) Error() string {
	said := "the operation of Cloud Map failed with " + sanitize.Name(e.code)
	if e.message != "" {
		said += " and " + sanitize.Quote(e.message)
	}
	if e.outcome == provider.ErrCredentials {
		said += ": Cloud Map makes records in Route 53 with the same credentials, so these need the rights for that, too"
	}
	return said
}

// Unwrap returns the outcome.
func (e *operationError) Unwrap() error { return e.outcome }

// isCertain reports whether it is known after an error what was made.
func isCertain(err error) bool {
	if _, failed := errors.AsType[*operationError](err); failed {
		return true
	}
	return provider.NothingMade(err)
}
