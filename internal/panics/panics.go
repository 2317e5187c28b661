// Package panics ends only the unit of work that panics, and not the whole process. A [Reporter] counts and
// logs such panics: the DNS publisher has one for its sources and its provider, the loop of the controllers
// for the syncs of Services, and the admin servers for their handlers. Package grpcrecover does the same for
// gRPC calls, with a [Stacks] of its own. [Carry] passes a panic to the goroutine that waits for the work.
//
// A panic is a bug in our code or in a library. Its trigger is often one object or one response of an
// untrusted server, which still exists after a restart, so the process would crash again and again. Work that
// panics while it holds a lock without a deferred Unlock keeps the lock: don't run such work in a Reporter.
//
// # Concurrency
//
// A Reporter may be used from any goroutine. It recovers panics of the goroutine that calls Catch; a panic in
// another goroutine still ends the process.
package panics

import (
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/internal/sanitize"
)

// LogInterval is the time between two logged stacks of the same location, because users can cause panics at
// any rate with objects or calls.
const LogInterval = 10 * time.Minute

// Error is the error of work that panicked.
type Error struct {
	// At is the location of the panic, as function:line.
	At string
	// Value is the panic's value as text, truncated and quoted, because it may contain untrusted text.
	Value string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("a bug in Signpost at %s (%s): please report it with the stack in the log", e.At, e.Value)
}

// Reporter counts and logs panics. Make one with [New].
type Reporter struct {
	log    *slog.Logger
	count  *prometheus.CounterVec
	stacks Stacks
}

// New returns a reporter. The counter has one label, the unit of the work.
func New(log *slog.Logger, count *prometheus.CounterVec) *Reporter {
	return &Reporter{log: log, count: count}
}

// Expect exports the count of a unit before its first panic. A counter that starts at one would trigger no
// alert on its rise.
func (r *Reporter) Expect(unit string) { r.count.WithLabelValues(unit) }

// Catch calls f and returns its error. If f panics, Catch returns an [Error], counts it for the unit, and
// logs the stack, at most once per [LogInterval] and location.
func (r *Reporter) Catch(unit string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = r.caught(unit, v)
		}
	}()
	return f()
}

// caught reports a panic. It must be called in the deferred function, while the stack of the panic exists.
func (r *Reporter) caught(unit string, value any) error {
	e := &Error{At: Place(), Value: sanitize.Quote(fmt.Sprint(value))}
	r.count.WithLabelValues(unit).Inc()
	if r.stacks.Due(e.At) {
		r.log.Error("Work panicked; please report this", "unit", unit, "panic", e.Value, "at", e.At, "stack", string(debug.Stack()))
	}
	return e
}

// Stacks decides which stacks are logged. The zero value is ready to use, from any goroutine.
type Stacks struct {
	mu     sync.Mutex
	logged map[string]time.Time // when the stack of a place was last logged; places are few
}

// Due reports whether the stack of a panic at this [Place] should be logged now.
func (s *Stacks) Due(at string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if last, ok := s.logged[at]; ok && now.Sub(last) < LogInterval {
		return false
	}
	if s.logged == nil {
		s.logged = map[string]time.Time{}
	}
	s.logged[at] = now
	return true
}

// Place returns the location of a panic, as function:line: the first frame below the runtime's. It must be
// called in the deferred function that has recovered, or below it.
func Place() string {
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
			return "unknown"
		}
	}
}

// Carried is the value of a panic that continues in another goroutine, which waits for the work.
type Carried struct {
	Value any
	// At is the location, as function:line, and Stack the stack of the goroutine that panicked first.
	At    string
	Stack []byte
}

// Carry returns the value with which a panic continues. It must be called in the deferred function that has
// recovered.
func Carry(value any) *Carried { return &Carried{Value: value, At: Place(), Stack: debug.Stack()} }

// Of returns the details of a recovered panic, whether it was carried or not. It must be called in the
// deferred function that has recovered.
func Of(value any) *Carried {
	if c, ok := value.(*Carried); ok {
		return c
	}
	return Carry(value)
}
