package route53test

import "time"

// Call is a request to the API.
type Call struct {
	// Operation is the name of the action, such as ListHostedZones.
	Operation string
	// Zone is the ID of the zone of the request; empty for none.
	Zone string
	// Changes is the body of ChangeResourceRecordSets.
	Changes []Change
}

// Fault is the failure of a request.
type Fault struct {
	Status        int
	Code, Message string
	// Cut is true if the connection is closed without a response.
	Cut bool
}

// The faults that tests use most.
var (
	// Throttled is the response to more than five requests a second (API Reference, DNSLimitations).
	Throttled = &Fault{Status: 400, Code: "Throttling", Message: "Rate exceeded"}
	// Prior is the response while another change of the zone is being applied (API Reference,
	// API_ChangeResourceRecordSets, PriorRequestNotComplete).
	Prior = &Fault{Status: 400, Code: "PriorRequestNotComplete", Message: "The request was rejected because Route 53 was still processing a prior request."}
	// Failed is an internal error of Route 53.
	Failed = &Fault{Status: 500, Code: "InternalFailure", Message: "We encountered an internal error. Please try again."}
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

// SetPropagation sets the time until changes become INSYNC.
func (s *Server) SetPropagation(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.propagation = d
}

// SetRate limits the requests per second; zero means no limit. Further requests get [Throttled].
func (s *Server) SetRate(perSecond int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate, s.tokens, s.refilled = perSecond, float64(perSecond), s.now()
}

// SetClock replaces the clock.
func (s *Server) SetClock(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// Deny denies an action on a zone, or on all zones if the ID is empty.
func (s *Server) Deny(operation, zoneID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[Call{Operation: operation, Zone: zoneID}.right()] = true
}

// Permit undoes [Server.Deny].
func (s *Server) Permit(operation, zoneID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.denied, Call{Operation: operation, Zone: zoneID}.right())
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
