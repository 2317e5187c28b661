package clouddnstest

import "time"

// Call is a request to the API.
type Call struct {
	// Operation is the name of the method, such as changes.create.
	Operation string
	// Zone is the name or the ID of the zone that it is about; empty is none.
	Zone string
	// Change is that of changes.create.
	Change Change
	// PageSize is the value of maxResults; zero is none.
	PageSize int
}

// Fault is how a request fails.
type Fault struct {
	Status          int
	Reason, Message string
	// RetryAfter is the header of that name.
	RetryAfter string
	// Cut is true if the connection is closed without an answer.
	Cut bool
	// more are further errors of the same answer.
	more []*Fault
}

// The faults of Cloud DNS that tests ask for most.
var (
	// RateLimited is what Cloud DNS answers when a quota of requests in a minute is used up
	// (quotas; error-messages).
	RateLimited = &Fault{Status: 403, Reason: "rateLimitExceeded", Message: "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service 'dns.googleapis.com'."}
	// Exhausted is the same with the newer status, and with a time.
	Exhausted = &Fault{Status: 429, Reason: "rateLimitExceeded", Message: "Resource has been exhausted (e.g. check quota).", RetryAfter: "3"}
	// Failed is what Cloud DNS answers when it fails itself.
	Failed = &Fault{Status: 503, Reason: "backendError", Message: "Backend Error"}
	// Lost is a connection that ends without an answer.
	Lost = &Fault{Cut: true}
)

// Hooks make requests fail. They are called without a lock.
type Hooks struct {
	// Before is called first. If it returns a fault, nothing is done.
	Before func(Call) *Fault
	// After is called when the request has had its effect. A fault takes the place of the
	// answer.
	After func(Call) *Fault
}

// SetHooks replaces the hooks.
func (s *Server) SetHooks(h Hooks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = h
}

// SetLag has listings show what there was some time ago.
func (s *Server) SetLag(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag = d
}

// SetRate limits how many requests are answered in a second; zero is for any number. Others get
// [RateLimited].
func (s *Server) SetRate(perSecond int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate, s.left, s.refilled = perSecond, float64(perSecond), s.now()
}

// Deny takes away the right to an operation on a zone, or on all zones if the name is empty.
func (s *Server) Deny(operation, zone string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[Call{Operation: operation, Zone: zone}.right()] = true
}

// Permit gives back what [Server.Deny] has taken.
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

// Refused returns how many requests the server has refused for what they asked for.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// right is a key for the rights that are missing.
func (c Call) right() string { return c.Operation + " " + c.Zone }
