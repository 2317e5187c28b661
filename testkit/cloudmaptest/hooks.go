package cloudmaptest

import (
	"encoding/json"
	"time"
)

// Call is a request to the API.
type Call struct {
	// Operation is the name of the action, such as ListServices, and Body the text of the request.
	Operation, Body string
}

// Field returns a field of the request that is a text, or "".
func (c Call) Field(name string) string {
	var fields map[string]any
	// What isn't JSON has no fields.
	_ = json.Unmarshal([]byte(c.Body), &fields)
	text, _ := fields[name].(string)
	return text
}

// Fault is the failure of a request.
type Fault struct {
	Status        int
	Code, Message string
	// More are further fields of the answer.
	More map[string]string
	// Cut is true if the connection is closed without a response.
	Cut bool
}

// The faults that tests use most.
var (
	// Throttled is what Cloud Map answers to too many requests (API Reference, CommonErrors).
	Throttled = &Fault{Status: 400, Code: "ThrottlingException", Message: "Rate exceeded"}
	// LimitExceeded says the same of requests about instances (Developer Guide, throttling).
	LimitExceeded = &Fault{Status: 400, Code: "RequestLimitExceeded", Message: "Rate exceeded"}
	// Failed is an internal error of Cloud Map.
	Failed = &Fault{Status: 500, Code: "InternalFailure", Message: "The request processing has failed because of an unknown error."}
	// Lost is a connection that is closed without a response.
	Lost = &Fault{Cut: true}
)

// Hooks make requests fail. Before and After are called without a lock, so that they may call the
// server; Operation may not.
type Hooks struct {
	// Before is called first. If it returns a fault, the request has no effect.
	Before func(Call) *Fault
	// After is called when the request has had its effect. A fault replaces the response.
	After func(Call) *Fault
	// Operation is called when an operation begins. If it returns a code, the operation fails with
	// it, and has no effect.
	Operation func(kind, instance string) (code string)
}

// SetHooks replaces the hooks.
func (s *Server) SetHooks(h Hooks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = h
}

// SetLag has services listed as they were some time ago, and revisions change some time late.
func (s *Server) SetLag(services, revisions time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag, s.dataLag = services, revisions
}

// SetTime has operations take some time.
func (s *Server) SetTime(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes = d
}

// SetRate limits the requests per second; zero means no limit. Further requests get [Throttled].
func (s *Server) SetRate(perSecond int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate, s.tokens, s.refilled = perSecond, float64(perSecond), time.Now()
}

// SetQuota changes how many instances a namespace may have.
func (s *Server) SetQuota(instances int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota = instances
}

// OneCNAME has services for CNAME records take one instance.
func (s *Server) OneCNAME() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oneCNAME = true
}

// Deny denies an action.
func (s *Server) Deny(operation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[operation] = true
}

// Permit undoes [Server.Deny].
func (s *Server) Permit(operation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.denied, operation)
}

// Calls returns the requests since the last call of Calls.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}
