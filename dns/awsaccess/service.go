package awsaccess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

// maxMessage limits the quoted text of a service in bytes.
const maxMessage = 512

// ErrUnauthenticated means that AWS refuses the credentials for every action.
var ErrUnauthenticated = fmt.Errorf("of AWS: %w", provider.ErrCredentials)

// Service is what providers know of the errors of a service.
type Service struct {
	// Name is the service in errors, and Prefix begins its actions in policies.
	Name, Prefix string
	// Codes are the service's own error codes.
	Codes map[string]Class
	// Throttled is the advice for too many requests.
	Throttled string
	// Refuses is true if nothing was done after a response of status 400 with an unknown code.
	Refuses bool
}

// Class is what an error code means.
type Class struct {
	// Outcome is the class of the error for the request; nil means unknown.
	Outcome error
	Advice  string
}

// Account calls a service.
type Account struct {
	*Service
	// Label describes the account in errors.
	Label       string
	Credentials aws.CredentialsProvider
}

// Call makes a request for a resource, whose permission the advice names, at the pace that
// the publishers of the account share.
func (a *Account) Call(ctx context.Context, shared *provider.Shared[*Pace], action, resource string, send func() error) error {
	credentials, err := a.Credentials.Retrieve(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: get the credentials of %s: %w", ErrUnauthenticated, a.Label, err)
	}
	pace := shared.Of(accountOf(credentials))
	if err = send(); err == nil {
		pace.Succeeded()
		return nil
	}
	err = a.failure(err, action, resource)
	if errors.Is(err, provider.ErrThrottled) {
		pace.Throttled()
	}
	return err
}

// apiError is a failed response. It wraps its outcome, and the error of the SDK for what else that
// has.
type apiError struct {
	service, code, message string
	Class
	sdk error
}

// Error implements error. The text has nothing that changes with each request, such as its ID, so
// that equal failures have equal texts.
func (e *apiError) Error() string {
	return httpapi.ErrorText(e.service+" answered "+sanitize.Name(e.code), e.message, e.Advice)
}

// Unwrap returns the outcome and the error of the SDK.
func (e *apiError) Unwrap() []error { return []error{e.Outcome, e.sdk} }

func (s *Service) failure(err error, action, resource string) error {
	if errors.Is(err, provider.ErrDryRun) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if large := httpapi.TooLarge(err); large != nil {
		return fmt.Errorf("the response of %s to %s: %w", s.Name, action, large)
	}
	response, responded := errors.AsType[*smithyhttp.ResponseError](err)
	responded = responded && response.Response != nil && response.Response.Response != nil && response.HTTPStatusCode() > 0
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		e := &apiError{service: s.Name, code: cmp.Or(api.ErrorCode(), "UnknownError"), sdk: err}
		e.Class = s.classify(e.code, action, resource)
		if e.Outcome != ErrUnauthenticated {
			// The message may otherwise repeat the request, including a token.
			e.message = sanitize.Shorten(api.ErrorMessage(), maxMessage)
		}
		if e.Outcome == nil && s.Refuses && responded && response.HTTPStatusCode() == http.StatusBadRequest {
			e.Outcome = provider.ErrRejected
		}
		if e.Outcome != nil || e.code != "UnknownError" {
			return e
		}
	}
	switch {
	case !responded:
		return err
	case response.HTTPStatusCode()/100 == 2:
		return fmt.Errorf("the response of %s to %s can't be read: %s", s.Name, action, sanitize.Quote(response.Err.Error()))
	}
	bare := &http.Response{StatusCode: response.HTTPStatusCode(), Header: response.Response.Header, Body: http.NoBody}
	return httpapi.NewStatusError(s.Name, bare)
}

func (s *Service) classify(code, action, resource string) Class {
	if own, known := s.Codes[code]; known {
		return own
	}
	_, throttled := retry.DefaultThrottleErrorCodes[code]
	switch {
	case throttled:
		return Class{&provider.ThrottledError{}, s.Throttled}
	case slices.Contains(forbidden, code):
		return Class{provider.ErrCredentials, fmt.Sprintf("allow the action %s:%s for %s", s.Prefix, action, resource)}
	case slices.Contains(unauthenticated, code):
		return Class{ErrUnauthenticated, "check the credentials of AWS, and the clock"}
	}
	return Class{}
}

// Unidentified reports whether a successful response has no request ID, which AWS adds to each response. The
// SDK takes any response with a successful status, such as one of a proxy, for one without results. metadata
// is the ResultMetadata of the output.
func Unidentified(metadata middleware.Metadata) bool {
	id, _ := awsmiddleware.GetRequestIDMetadata(metadata)
	return id == ""
}
