package leader

import "errors"

// ErrNotLeading is in the errors of a closed [Fence], and in the causes of the contexts and
// requests that it ended. There is nothing to retry: another process leads and does the work.
var ErrNotLeading = errors.New("not leading")

var (
	errBusy      = errors.New("still busy")
	errWorkEnded = errors.New("the work under it has ended")
)
