package settings

import "fmt"

// UsageError is an error in what was asked for, as opposed to in doing it.
type UsageError struct {
	err error
}

// Error implements error.
func (e *UsageError) Error() string { return e.err.Error() }

// Unwrap returns the error that was marked.
func (e *UsageError) Unwrap() error { return e.err }

// AsUsage marks an error as one in what was asked for.
func AsUsage(err error) error { return &UsageError{err} }

// Usagef makes such an error, as fmt.Errorf does.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}
