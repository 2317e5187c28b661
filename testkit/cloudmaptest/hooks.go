package cloudmaptest

import (
	"time"

	"github.com/signpostd/signpost/testkit/apitest"
)

// Call is a request to the API.
type Call struct {
	// Operation is the name of the action, such as ListServices, and Body the text of the request.
	Operation, Body string
}

// Op implements [apitest.Call].
func (c Call) Op() string { return c.Operation }

// Fault is how a request fails.
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

// Hooks make requests fail.
type Hooks = apitest.Hooks[Call, Fault]

// SetOperation sets a function that is called with the lock when an operation begins. If it returns
// a code, the operation fails with it, and has no effect.
func (s *Server) SetOperation(hook func(kind, instance string) (code string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operation = hook
}

// SetRevisionLag has revisions change some time late.
func (s *Server) SetRevisionLag(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dataLag = d
}

// SetTime has operations take some time.
func (s *Server) SetTime(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes = d
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
