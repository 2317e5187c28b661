package settings

import "fmt"

// UsageError is an error in what was asked for. Any other error came up in doing it.
type UsageError struct {
	err error
}

// Error implements error.
func (e *UsageError) Error() string { return e.err.Error() }

// Unwrap returns the error that was marked.
func (e *UsageError) Unwrap() error { return e.err }

// AsUsage makes a UsageError of an error.
func AsUsage(err error) error { return &UsageError{err} }

// Usagef makes a UsageError of what fmt.Errorf returns.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}
