package apitest

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Hooks make calls fail. They are called without a lock, so that they may call the server. C is the
// kit's type of a call, and F that of a fault.
type Hooks[C, F any] struct {
	// Before is called first. If it returns a fault, the call has no effect.
	Before func(C) *F
	// After is called when the call has had its effect. Its fault replaces the answer.
	After func(C) *F
}

// Call is a request to a fake API.
type Call interface {
	// Op returns the operation.
	Op() string
}

// Control is what tests see of a server and change about it.
type Control[C Call, F any] struct {
	mu      sync.Mutex
	hooks   Hooks[C, F]
	calls   []C
	refused int
	lag     time.Duration
	denied  map[right]bool
}

// right is the right to an operation on a zone; an empty zone is for all.
type right struct{ operation, zone string }

// SetHooks replaces the hooks.
func (c *Control[C, F]) SetHooks(h Hooks[C, F]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hooks = h
}

// FailOnce makes the first call fail that a function accepts, before it has an effect. Failed
// reports whether that has happened.
func (c *Control[C, F]) FailOnce(fault *F, accepts func(C) bool) (failed func() bool) {
	hook, failed := once(fault, accepts)
	c.SetHooks(Hooks[C, F]{Before: hook})
	return failed
}

// LoseOnce is FailOnce for a call that has had its effect: its answer is lost.
func (c *Control[C, F]) LoseOnce(fault *F, accepts func(C) bool) (failed func() bool) {
	hook, failed := once(fault, accepts)
	c.SetHooks(Hooks[C, F]{After: hook})
	return failed
}

// once returns a hook for the first call that a function accepts.
func once[C, F any](fault *F, accepts func(C) bool) (hook func(C) *F, failed func() bool) {
	var done atomic.Bool
	return func(call C) *F {
		if accepts(call) && done.CompareAndSwap(false, true) {
			return fault
		}
		return nil
	}, done.Load
}

// SetLag makes listings show what there was some time ago.
func (c *Control[C, F]) SetLag(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = d
}

// Lag returns how late listings are.
func (c *Control[C, F]) Lag() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lag
}

// Deny takes away the right to an operation on a zone, or on all zones if the zone is empty.
func (c *Control[C, F]) Deny(operation, zone string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.denied == nil {
		c.denied = map[right]bool{}
	}
	c.denied[right{operation, zone}] = true
}

// Permit gives back what [Control.Deny] has taken.
func (c *Control[C, F]) Permit(operation, zone string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.denied, right{operation, zone})
}

// Denied reports whether the right to an operation on a zone was taken away.
func (c *Control[C, F]) Denied(operation, zone string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.denied[right{operation, zone}] || c.denied[right{operation, ""}]
}

// Calls returns the calls since the last call of Calls.
func (c *Control[C, F]) Calls() []C {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return calls
}

// Operations counts the calls since the last call of Calls or Operations, by operation.
func (c *Control[C, F]) Operations() map[string]int {
	requests := map[string]int{}
	for _, call := range c.Calls() {
		requests[call.Op()]++
	}
	return requests
}

// Refused returns how many calls the server has refused for what they asked for.
func (c *Control[C, F]) Refused() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// Do carries out a call with the hooks of a control: admit checks rates and rights, and perform has
// the effect.
func Do[C Call, F, A any](c *Control[C, F], call C, admit func() *F, perform func() (A, *F)) (answer A, fault *F) {
	hooks := c.note(call)
	if fault = admit(); fault == nil && hooks.Before != nil {
		fault = hooks.Before(call)
	}
	if fault != nil {
		return answer, fault
	}
	if answer, fault = perform(); fault != nil {
		c.refuse()
	} else if hooks.After != nil {
		fault = hooks.After(call)
	}
	return answer, fault
}

func (c *Control[C, F]) note(call C) Hooks[C, F] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	return c.hooks
}

func (c *Control[C, F]) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused++
}

// Rate limits the calls in a second. The zero value doesn't.
type Rate struct {
	mu        sync.Mutex
	perSecond int
	tokens    float64
	refilled  time.Time
}

// SetRate sets how many calls are answered in a second; zero is for any number.
func (r *Rate) SetRate(perSecond int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.perSecond, r.tokens, r.refilled = perSecond, float64(perSecond), time.Now()
}

// Exceeded counts a call, and reports whether it is one too many.
func (r *Rate) Exceeded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.perSecond == 0 {
		return false
	}
	now := time.Now()
	r.tokens = min(r.tokens+now.Sub(r.refilled).Seconds()*float64(r.perSecond), float64(r.perSecond))
	if r.refilled = now; r.tokens < 1 {
		return true
	}
	r.tokens--
	return false
}

// WriteJSON answers a request. The answer has to be a value that JSON has.
func WriteJSON(w http.ResponseWriter, status int, contentType string, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	// If the client is gone, nobody can be told.
	_, _ = w.Write(text)
}
