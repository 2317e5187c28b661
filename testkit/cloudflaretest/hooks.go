package cloudflaretest

import (
	"net/url"
	"time"
)

// The operations that the server implements.
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
	// Zone is the ID of the zone of the request; empty for none.
	Zone  string
	Query url.Values
	// Changes is the body of a [Batch].
	Changes Changes
}

// Fault is the failure of a request.
type Fault struct {
	Status  int
	Code    int
	Message string
	// Cause and CauseCode are in the error chain.
	Cause      string
	CauseCode  int
	RetryAfter time.Duration
	// Cut is true if the connection is closed without a response.
	Cut bool
}

// The faults that tests use most.
var (
	// Failed is an internal error of Cloudflare.
	Failed = &Fault{Status: 500, Code: 10013, Message: "An unknown error has occurred"}
	// Lost is a connection that is closed without a response.
	Lost = &Fault{Cut: true}
)

// Throttled is the response to too many requests (fundamentals/api/reference/limits).
func Throttled(after time.Duration) *Fault {
	return &Fault{Status: 429, Code: 971, Message: "Please wait and consider throttling your request speed", RetryAfter: after}
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

// SetRate limits the requests per five minutes; zero means no limit. Further requests get [Throttled].
func (s *Server) SetRate(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate, s.used, s.since = requests, 0, time.Now()
}

// Deny denies an operation on a zone, or on all zones if the ID is empty.
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

// right is the key of a denied permission.
func (c Call) right() string { return c.Operation + " " + c.Zone }
