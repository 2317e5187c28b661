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

// Errors for a state that has changed since the listing (spec/clouds.md §2).
var (
	errNoNamespace = fmt.Errorf("%w: the namespace is gone", provider.ErrStale)
	errNoService   = fmt.Errorf("%w: the service is gone", provider.ErrStale)
	errNoInstance  = fmt.Errorf("%w: the instance is gone", provider.ErrStale)
	errInUse       = fmt.Errorf("%w: the service has instances", provider.ErrStale)
)

// errLimit means that a quota is used up.
var errLimit = fmt.Errorf("%w: the quota is used up", provider.ErrRejected)

// errUnauthenticated means that AWS refuses the credentials for every action.
var errUnauthenticated = fmt.Errorf("of AWS: %w", provider.ErrCredentials)

// codes are the classes of Cloud Map's error codes.
var codes = map[string]error{
	"NamespaceNotFound": errNoNamespace, "ServiceNotFound": errNoService, "InstanceNotFound": errNoInstance, "ResourceInUse": errInUse,
	"InvalidInput": provider.ErrRejected, "ResourceLimitExceeded": errLimit, "TooManyTagsException": provider.ErrRejected,
	"ValidationException": provider.ErrRejected, "ValidationError": provider.ErrRejected,
	"RequestLimitExceeded": &provider.ThrottledError{},
}

// apiError is a failed response of Cloud Map.
type apiError struct {
	code, message, advice string
	// outcome is the class of the error for the request; nil means unknown.
	outcome error
}

// Error implements error. Equal failures have equal texts.
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

// existsError means that a service with the name exists. id may be empty. request is the ID of the request
// that created it.
type existsError struct {
	id, request string
	*apiError
}

// Unwrap returns the outcome.
func (e *existsError) Unwrap() error { return e.apiError }

// runningError means that an operation is already executing the same request.
type runningError struct {
	operation string
	*apiError
}

// Unwrap returns the outcome.
func (e *runningError) Unwrap() error { return e.apiError }

// failure returns the error for a failed action.
func failure(err error, action string) error {
	if errors.Is(err, provider.ErrDryRun) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if large := httpapi.TooLarge(err); large != nil {
		return fmt.Errorf("the response of Cloud Map to %s: %w", action, large)
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		if e := classify(api, action); e.outcome != nil || e.code != "UnknownError" {
			return withID(err, e)
		}
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && response.Response != nil && response.Response.Response != nil && response.HTTPStatusCode() > 0 {
		if response.HTTPStatusCode()/100 == 2 {
			return fmt.Errorf("the response of Cloud Map to %s can't be read: %s", action, sanitize.Quote(response.Err.Error()))
		}
		bare := &http.Response{StatusCode: response.HTTPStatusCode(), Header: response.Response.Header, Body: http.NoBody}
		return httpapi.NewStatusError("Cloud Map", bare)
	}
	return err
}

// withID adds the IDs of an error.
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

// classify returns the error for a response with a code.
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
		e.outcome = errUnauthenticated
		e.advice = "check the credentials of AWS, and the clock"
		e.message = ""
	}
	return e
}

// operationError is the error of a failed operation.
type operationError struct {
	code, message string
	outcome       error
}

// newOperationError returns the error for a failed operation. Its codes are in the API Reference
// (API_Operation).
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

// isCertain reports whether the outcome is known after an error.
func isCertain(err error) bool {
	if _, failed := errors.AsType[*operationError](err); failed {
		return true
	}
	return provider.NothingMade(err)
}
