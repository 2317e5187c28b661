package clouddnstest

import "time"

// Call is a request to the API.
type Call struct {
	// Operation is the name of the method, such as changes.create.
	Operation string
	// Zone is the name or the ID of the zone of the request; empty for none.
	Zone string
	// Change is the body of changes.create.
	Change Change
	// PageSize is the value of maxResults; zero if it is missing.
	PageSize int
}

// Fault is the failure of a request.
type Fault struct {
	Status          int
	Reason, Message string
	// RetryAfter is the header of that name.
	RetryAfter string
	// Cut is true if the connection is closed without a response.
	Cut bool
	// more are further errors of the same response.
	more []*Fault
}

// The faults that tests use most.
var (
	// RateLimited is the response when the quota of requests per minute is used up (quotas; error-messages).
	RateLimited = &Fault{Status: 403, Reason: "rateLimitExceeded", Message: "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service 'dns.googleapis.com'."}
	// Exhausted is RateLimited with the newer status, and with a Retry-After.
	Exhausted = &Fault{Status: 429, Reason: "rateLimitExceeded", Message: "Resource has been exhausted (e.g. check quota).", RetryAfter: "3"}
	// Failed is an internal error of Cloud DNS.
	Failed = &Fault{Status: 503, Reason: "backendError", Message: "Backend Error"}
	// Lost is a connection that is closed without a response.
	Lost = &Fault{Cut: true}
)

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

// SetRate limits the requests per second; zero means no limit. Further requests get [RateLimited].
func (s *Server) SetRate(perSecond int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate, s.left, s.refilled = perSecond, float64(perSecond), s.now()
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

// Calls returns the requests to the API since the last call of Calls.
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
