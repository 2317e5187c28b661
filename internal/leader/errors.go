package leader

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotLeading is wrapped by the errors of a closed [Fence], and by the causes of the contexts and requests
// that it ended. Don't retry: another process leads and does the work.
var ErrNotLeading = errors.New("not leading")

// StandDown is returned by lead to give another process the chance to do the work. The lease is released, and
// this process doesn't campaign for a while.
type StandDown struct {
	For    time.Duration
	Reason error
}

// Error implements error.
func (s *StandDown) Error() string { return fmt.Sprintf("standing down for %v: %v", s.For, s.Reason) }

// Unwrap returns the reason.
func (s *StandDown) Unwrap() error { return s.Reason }

var (
	errBusy      = errors.New("still busy")
	errWorkEnded = errors.New("the work under it has ended")
)
