package azuretest

import (
	"strconv"
	"time"
)

// The operations.
const (
	ListZones = "ListZones"
	ListSets  = "ListSets"
	Get       = "Get"
	Put       = "Put"
	Delete    = "Delete"
)

// Call is a request to the API. A request for a token has the operation Token.
type Call struct {
	Operation string
	// Zone is the name of the zone of the request; empty for none.
	Zone string
	// Name and Type identify the record set; empty for none.
	Name, Type           string
	IfMatch, IfNoneMatch string
}

// Writes reports whether the request changes something.
func (c Call) Writes() bool { return c.Operation == Put || c.Operation == Delete }

// Fault is the failure of a request.
type Fault struct {
	Status        int
	Code, Message string
	RetryAfter    string
	// Bare is true if code and message are at the top level instead of in an object. Azure uses both forms.
	Bare bool
	// Cut is true if the connection is closed without a response.
	Cut bool
}

// The faults that tests use most.
var (
	// Failed is an internal error of Azure.
	Failed = &Fault{Status: 500, Code: "InternalServerError", Message: "Encountered internal server error."}
	// Lost is a connection that is closed without a response.
	Lost = &Fault{Cut: true}
	// Refused is Azure's response to an invalid record set.
	Refused = &Fault{Status: 400, Code: "BadRequest", Message: "The record set is not what it should be.", Bare: true}
)

// Throttled is Azure's response to too many requests (azure-resource-manager, request-limits-and-throttling).
// Retry-After is set to seconds, unless that is zero.
func Throttled(seconds int) *Fault {
	f := &Fault{Status: 429, Code: "TooManyRequests", Message: "The request is being throttled as the limit has been reached for operation type - Write_ObservationWindow."}
	if seconds > 0 {
		f.RetryAfter = strconv.Itoa(seconds)
	}
	return f
}

// Hooks make requests fail. They are called without a lock.
type Hooks struct {
	// Before is called first. If it returns a fault, the request has no effect.
	Before func(Call) *Fault
	// After is called when the request has had its effect. A fault replaces the response.
	After func(Call) *Fault
}

// SetHooks replaces the hooks.
func (s *Server) SetHooks(h Hooks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = h
}

// SetLag makes listings lag behind by d.
func (s *Server) SetLag(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag = d
}

// SetPage sets the largest page of a listing.
func (s *Server) SetPage(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = n
}

// SetLimit limits the requests per period; zero means no limit. Further requests get [Throttled].
func (s *Server) SetLimit(requests int, in time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit, s.window, s.sent = requests, in, nil
}

// Deny denies an operation on a zone, or on all zones if the name is empty.
func (s *Server) Deny(operation, zone string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[Call{Operation: operation, Zone: zone}.right()] = true
}

// Permit undoes [Server.Deny].
func (s *Server) Permit(operation, zone string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.denied, Call{Operation: operation, Zone: zone}.right())
}

// Revoke invalidates all tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Calls returns the requests since the last call of Calls.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// Refused returns the number of requests that the server rejected as invalid.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// right is the key of a denied right.
func (c Call) right() string { return c.Operation + " " + c.Zone }
