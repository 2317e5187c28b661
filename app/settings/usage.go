package settings

import "fmt"

// UsageError is an error in the user's input, as opposed to a failure.
type UsageError struct {
	err error
}

// Error implements error.
func (e *UsageError) Error() string { return e.err.Error() }

// Unwrap returns the error that was marked.
func (e *UsageError) Unwrap() error { return e.err }

// AsUsage marks an error as a UsageError.
func AsUsage(err error) error { return &UsageError{err} }

// Usagef returns fmt.Errorf's error as a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}
