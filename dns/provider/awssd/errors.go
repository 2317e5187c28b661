package awssd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

// Errors for a state that has changed since the listing (spec/clouds.md §2).
var (
	errNoNamespace = fmt.Errorf("%w: the namespace is gone", provider.ErrStale)
	errNoService   = fmt.Errorf("%w: the service is gone", provider.ErrStale)
	errNoInstance  = fmt.Errorf("%w: the instance is gone", provider.ErrStale)
	errInUse       = fmt.Errorf("%w: the service has instances", provider.ErrStale)
)

var errLimit = fmt.Errorf("%w: the quota is used up", provider.ErrRejected)

// cloudMapService has the error codes of Cloud Map.
var cloudMapService = &awsaccess.Service{
	Name: "Cloud Map", Prefix: "servicediscovery",
	Codes: map[string]awsaccess.Class{
		"NamespaceNotFound": {Outcome: errNoNamespace}, "ServiceNotFound": {Outcome: errNoService}, "InstanceNotFound": {Outcome: errNoInstance}, "ResourceInUse": {Outcome: errInUse},
		"ServiceAlreadyExists": {Outcome: provider.ErrStale}, "DuplicateRequest": {Outcome: provider.ErrStale},
		"InvalidInput": {Outcome: provider.ErrRejected}, "TooManyTagsException": {Outcome: provider.ErrRejected},
		"ValidationException": {Outcome: provider.ErrRejected}, "ValidationError": {Outcome: provider.ErrRejected},
		"RequestLimitExceeded": {Outcome: &provider.ThrottledError{}},
		"ResourceLimitExceeded": {
			Outcome: errLimit, Advice: "a service has 1,000 instances, and a namespace has a quota of its own: have the quota raised, or use another namespace",
		},
	},
}

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
