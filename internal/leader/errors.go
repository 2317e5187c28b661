package leader

import "errors"

// ErrNotLeading is in the errors of a [Fence] that is closed, and is the cause of contexts
// and requests that it ended. There is nothing to retry: the process that leads does the work.
var ErrNotLeading = errors.New("not leading")

var (
	errBusy      = errors.New("still busy")
	errWorkEnded = errors.New("the work under it has ended")
)
