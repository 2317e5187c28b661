package kube

import (
	"fmt"

	"github.com/signpostd/signpost/internal/panics"
)

// panicProblem returns the problem of an object whose reading panicked. A deferred function that has
// recovered calls it. Without it, the process would crash again after each restart, because the object still
// exists then.
func panicProblem(value any) Problem {
	return Problem{Reason: fmt.Sprintf("reading it panicked at %s (%v), which is a bug in Signpost; please report it with the object", panics.Place(), value)}
}
