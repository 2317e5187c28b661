package kube

import (
	"fmt"
	"runtime"
	"strings"
)

// mistake returns the problem of an object whose reading panicked with a value. It is to be called by the deferred
// function that has recovered. The object is there after a restart too, so the process would end again and again.
func mistake(value any) Problem {
	return Problem{Reason: fmt.Sprintf("reading it panicked at %s (%v), which is a mistake of Signpost's own; please report it with the object", panicked(), value)}
}

// panicked returns where the code panicked, as function:line: the first frame below those of the runtime.
func panicked() string {
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
