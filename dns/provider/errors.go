package provider

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Errors of providers for the outcome of changes.
var (
	// ErrRejected: nothing was changed, because the provider refuses the changes.
	ErrRejected = errors.New("rejected by the provider")
	// ErrCredentials: nothing was changed, because the provider doesn't accept the
	// credentials.
	ErrCredentials = errors.New("credentials not accepted")
	// ErrStale: nothing was changed, because another writer has changed the zone since it was listed.
	// The zone has to be listed again.
	ErrStale = errors.New("the zone has changed since it was listed")
	// ErrThrottled: nothing was changed, because there were too many requests. The request may be
	// retried later. A [ThrottledError] says when.
	ErrThrottled = errors.New("too many requests")
	// ErrUnread: nothing was changed, because the provider refused to let the zone be read right before
	// ([Unread]).
	ErrUnread = errors.New("the zone can't be read before it is changed")
	// ErrNotTried: the change was not sent, because too many others of the same call were refused. It may be
	// sent again at once.
	ErrNotTried = errors.New("not tried yet")
	// ErrDryRun: nothing was sent, because this is a dry run.
	ErrDryRun = errors.New("not sent in a dry run")
)

// LongestPause limits the pause that a service can ask for: a single response must not stop publishing for
// longer, such as until the process is restarted.
const LongestPause = time.Hour

// ThrottledError is an [ErrThrottled] with the time of the next attempt.
type ThrottledError struct {
	// After is the required pause; zero means unknown.
	After time.Duration
	// Err is the provider's error; it may be nil.
	Err error
}

// Error implements error.
func (e *ThrottledError) Error() string {
	text := ErrThrottled.Error()
	if e.After > 0 {
		text += fmt.Sprintf(", retry after %v", e.After)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns [ErrThrottled] and the provider's error.
func (e *ThrottledError) Unwrap() []error { return []error{ErrThrottled, e.Err} }

// ApplyError is an error of [Provider.Apply] with the outcome of each change.
type ApplyError struct {
	// Errs has an entry for each change, in order; nil means that it was made. With another number of
	// entries the outcome of all changes is unknown.
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

// errOutcomes is the error of a call whose [ApplyError] doesn't fit its changes.
var errOutcomes = errors.New("the number of outcomes differs from the number of changes")

// Outcomes returns the outcomes of n changes if an error is an [ApplyError], and otherwise the error
// of the whole call. If an ApplyError has another number of outcomes, the outcome is unknown: the
// returned error hides the classes of the single outcomes, because [NothingMade] would find them.
func Outcomes(err error, n int) (each []error, whole error) {
	var apply *ApplyError
	switch {
	case !errors.As(err, &apply):
		return nil, err
	case len(apply.Errs) != n:
		return nil, fmt.Errorf("%w: %d for %d changes: %v", errOutcomes, len(apply.Errs), n, err)
	}
	return apply.Errs, nil
}

// NothingMade reports whether an error other than an [ApplyError] says that no change was made.
// After any other error the outcome is unknown.
func NothingMade(err error) bool {
	if _, maybe := errors.AsType[*maybeMadeError](err); maybe {
		return false
	}
	return StopsAll(err) || IsAny(err, ErrRejected, ErrStale)
}

// MaybeMade returns an error of Apply with the class of err, such as [ErrThrottled], after changes
// some of which may have been made. The outcome is unknown for [NothingMade].
func MaybeMade(err error) error { return &maybeMadeError{err} }

type maybeMadeError struct{ err error }

// Error implements error.
func (e *maybeMadeError) Error() string { return e.err.Error() }

// Unwrap returns the error with the class.
func (e *maybeMadeError) Unwrap() error { return e.err }

// StopsAll reports whether an error says that no change was made, for a reason that is not in the
// changes, unless it is one of [MaybeMade]. No other request can succeed now.
func StopsAll(err error) bool {
	return IsAny(err, ErrCredentials, ErrThrottled, ErrUnread, ErrDryRun)
}

// Unread returns the error of Apply for an error of the reading before the changes. It hides [ErrRejected],
// which would blame the changes.
func Unread(err error) error {
	if !errors.Is(err, ErrRejected) {
		return err
	}
	return fmt.Errorf("%w: %v", ErrUnread, err)
}

// IsAny reports whether an error is, or wraps, one of several.
func IsAny(err error, classes ...error) bool {
	return slices.ContainsFunc(classes, func(class error) bool { return errors.Is(err, class) })
}
