package provider

import (
	"errors"
	"fmt"
	"time"
)

// The errors with which providers say what happened to changes.
var (
	// ErrRejected: nothing was changed, because the provider refuses the changes.
	ErrRejected = errors.New("rejected by the provider")
	// ErrCredentials: nothing was changed, because the provider doesn't accept the
	// credentials.
	ErrCredentials = errors.New("credentials not accepted")
	// ErrStale: nothing was changed, because somebody else has changed the zone since it was
	// listed. It has to be listed again.
	ErrStale = errors.New("the zone has changed since it was listed")
	// ErrThrottled: nothing was changed, because there were too many requests. The same may be
	// asked again later. A [ThrottledError] says when.
	ErrThrottled = errors.New("too many requests")
	// ErrDryRun: nothing was sent, because this is a dry run.
	ErrDryRun = errors.New("not sent in a dry run")
)

// ThrottledError is an [ErrThrottled] of a provider that says when it may be asked again.
type ThrottledError struct {
	// After is how long not to ask; zero is for unknown.
	After time.Duration
	// Err is what the provider says; it may be nil.
	Err error
}

// Error implements error.
func (e *ThrottledError) Error() string {
	text := ErrThrottled.Error()
	if e.After > 0 {
		text += fmt.Sprintf(", come back after %v", e.After)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns [ErrThrottled] and what the provider says.
func (e *ThrottledError) Unwrap() []error { return []error{ErrThrottled, e.Err} }

// ApplyError is an error of [Provider.Apply] that says for each change whether it was made.
type ApplyError struct {
	// Errs has an entry for each change in their order. It is nil for changes that were made.
	Errs []error
}

// Error implements error.
func (e *ApplyError) Error() string {
	failed, first := 0, error(nil)
	for _, err := range e.Errs {
		if err != nil {
			if failed++; first == nil {
				first = err
			}
		}
	}
	return fmt.Sprintf("%d of %d changes failed, the first one: %v", failed, len(e.Errs), first)
}

// Unwrap returns the errors of the changes that were not made.
func (e *ApplyError) Unwrap() []error {
	var errs []error
	for _, err := range e.Errs {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// NothingMade reports whether an error that isn't an [ApplyError] says that no change was made. After
// any other error the outcome is unknown.
func NothingMade(err error) bool {
	for _, class := range []error{ErrRejected, ErrCredentials, ErrStale, ErrThrottled, ErrDryRun} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}
