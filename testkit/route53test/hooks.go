package route53test

import "time"

// Call is a request to the API.
type Call struct {
	// Operation is the name of the action, such as ListHostedZones.
	Operation string
	// Zone is the ID of the zone that it is about; empty is none.
	Zone string
	// Changes are those of ChangeResourceRecordSets.
	Changes []Change
}

// Fault is how a request fails.
type Fault struct {
	Status        int
	Code, Message string
	// Cut is true if the connection is closed without an answer.
	Cut bool
}

// The faults of Route 53 that tests ask for most.
var (
	// Throttled is what Route 53 answers to more than five requests a second (API Reference,
	// DNSLimitations).
	Throttled = &Fault{Status: 400, Code: "Throttling", Message: "Rate exceeded"}
	// Prior says that another change of the zone is still being made (API Reference,
	// API_ChangeResourceRecordSets, PriorRequestNotComplete).
	Prior = &Fault{Status: 400, Code: "PriorRequestNotComplete", Message: "The request was rejected because Route 53 was still processing a prior request."}
	// Failed is what Route 53 answers when it fails itself.
	Failed = &Fault{Status: 500, Code: "InternalFailure", Message: "We encountered an internal error. Please try again."}
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

// SetPropagation has changes become INSYNC some time after they are made.
func (s *Server) SetPropagation(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.propagation = d
}

// SetRate limits how many requests are answered in a second; zero is for any number. Others get
// [Throttled].
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

// Deny takes away the right to an action on a zone, or on all zones if the ID is empty.
func (s *Server) Deny(operation, zoneID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[Call{Operation: operation, Zone: zoneID}.right()] = true
}

// Permit gives back what [Server.Deny] has taken.
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

// Refused returns how many requests the server has refused for what they asked for.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// right is a key for the rights that are missing.
func (c Call) right() string { return c.Operation + " " + c.Zone }
