package cloudflaretest

import (
	"net/url"
	"time"
)

// The operations that the server has.
const (
	ListZones      = "ListZones"
	GetZone        = "GetZone"
	ListRecords    = "ListRecords"
	Batch          = "Batch"
	ListHostnames  = "ListHostnames"
	CreateHostname = "CreateHostname"
	DeleteHostname = "DeleteHostname"
	ListRegions    = "ListRegions"
	CreateRegion   = "CreateRegion"
	EditRegion     = "EditRegion"
	DeleteRegion   = "DeleteRegion"
)

// Call is a request to the API.
type Call struct {
	Operation string
	// Zone is the ID of the zone that it is about; empty is none.
	Zone  string
	Query url.Values
	// Changes are those of [Batch].
	Changes Changes
}

// Fault is how a request fails.
type Fault struct {
	Status  int
	Code    int
	Message string
	// Cause and CauseCode are in the chain of the error.
	Cause      string
	CauseCode  int
	RetryAfter time.Duration
	// Cut is true if the connection is closed without an answer.
	Cut bool
}

// The faults of Cloudflare that tests ask for most.
var (
	// Failed is what Cloudflare answers when it fails itself.
	Failed = &Fault{Status: 500, Code: 10013, Message: "An unknown error has occurred"}
	// Lost is a connection that ends without an answer.
	Lost = &Fault{Cut: true}
)

// Throttled is what Cloudflare answers when there are too many requests
// (fundamentals/api/reference/limits).
func Throttled(after time.Duration) *Fault {
	return &Fault{Status: 429, Code: 971, Message: "Please wait and consider throttling your request speed", RetryAfter: after}
}

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

// SetRate limits how many requests are answered in five minutes; zero is for any number. Others
// get [Throttled].
func (s *Server) SetRate(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate, s.used, s.since = requests, 0, time.Now()
}

// Deny takes away the permission for an operation on a zone, or on all zones if the ID is empty.
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

// right is a key for the permissions that are missing.
func (c Call) right() string { return c.Operation + " " + c.Zone }
