package kube

import (
	"fmt"
	"runtime"
	"strings"
)

// panicProblem returns the problem of an object whose reading panicked. A deferred function that has
// recovered calls it. Without it, the process would crash again after each restart, because the object still
// exists then.
func panicProblem(value any) Problem {
	return Problem{Reason: fmt.Sprintf("reading it panicked at %s (%v), which is a bug in Signpost; please report it with the object", panicLocation(), value)}
}

// panicLocation returns the location of the panic as function:line: the first frame below the runtime's.
func panicLocation() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	panicking := false
	for {
		f, more := frames.Next()
		if panicking && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", f.Function, f.Line)
		}
		panicking = panicking || f.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}
