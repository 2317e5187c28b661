// Package panics lets a panic cost one unit of work, and not the process with everything else.
//
// A panic is a mistake in our code or in a library. What brings it about is often one object or one answer
// of a foreign server, which is still there after a restart, so that the process would end again and again. The DNS publisher
// makes a [Reporter] for its sources and its provider, and the loop of the controllers one for the syncs of Services.
// Package grpcrecover does the same for calls of gRPC, with a [Stacks] of its own. What panics while it holds a lock
// without a deferred Unlock keeps the lock, so only work that doesn't is to be given to a Reporter.
//
// # Concurrency
//
// A Reporter may be used from any goroutine. It sees the panics of the goroutine that calls Catch; a panic in
// another one still ends the process.
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

// LogInterval is the time between two stacks in the log from the same place in the code. Those who make
// objects or calls decide how often something panics.
const LogInterval = 10 * time.Minute

// Error is what became of work that panicked.
type Error struct {
	// At is the place in the code, as function:line.
	At string
	// Value is that of the panic, as text: bounded and quoted, because it may be about what others wrote.
	Value string
}

func (e *Error) Error() string {
	return fmt.Sprintf("a mistake of Signpost's own at %s (%s): please report it with the stack in the log", e.At, e.Value)
}

// Reporter counts and logs panics. Make one with [New].
type Reporter struct {
	log    *slog.Logger
	count  *prometheus.CounterVec
	stacks Stacks
}

// New returns a reporter. The counter has one label, which is the unit of the work.
func New(log *slog.Logger, count *prometheus.CounterVec) *Reporter {
	return &Reporter{log: log, count: count}
}

// Expect exports the count of a unit before its first panic. A counter that isn't there before would start at one, and no
// rule would see it rise.
func (r *Reporter) Expect(unit string) { r.count.WithLabelValues(unit) }

// Catch calls f and returns its error. If f panics, that is an [Error], which is counted for the unit; the log has
// the stack, once in a while for each place in the code.
func (r *Reporter) Catch(unit string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = r.caught(unit, v)
		}
	}()
	return f()
}

// caught reports a panic. It is called while the stack of the panic is still there.
func (r *Reporter) caught(unit string, value any) error {
	e := &Error{At: Place(), Value: sanitize.Quote(fmt.Sprint(value))}
	r.count.WithLabelValues(unit).Inc()
	if r.stacks.Due(e.At) {
		r.log.Error("Work panicked; please report this", "unit", unit, "panic", e.Value, "at", e.At, "stack", string(debug.Stack()))
	}
	return e
}

// Stacks decides which stacks are logged. The zero value is ready, and may be used from any goroutine.
type Stacks struct {
	mu     sync.Mutex
	logged map[string]time.Time // when the stack of a place was last logged; places are few
}

// Due reports whether the stack of a panic at this [Place] is to be logged now, as it is once in a while.
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

// Place returns where the code panicked, as function:line: the first frame below those of the runtime. It is to be called by
// the deferred function that has recovered, or by what that calls.
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

// Carried is the value of a panic that continues in another goroutine: the one that waits for the work.
type Carried struct {
	Value any
	// At is the place in the code, as function:line, and Stack that of the goroutine that panicked first.
	At    string
	Stack []byte
}

// Carry returns a panic to continue. It is to be called by the deferred function that has recovered.
func Carry(value any) *Carried { return &Carried{Value: value, At: Place(), Stack: debug.Stack()} }

// Of returns what is known of a panic that was recovered, whether it was carried or not. It is to be called as [Carry] is.
func Of(value any) *Carried {
	if c, ok := value.(*Carried); ok {
		return c
	}
	return Carry(value)
}
