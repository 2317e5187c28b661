package route53test

import (
	"time"

	"github.com/signpostd/signpost/testkit/apitest"
)

// Call is a request to the API.
type Call struct {
	// Operation is the name of the action, such as ListHostedZones.
	Operation string
	// Zone is the ID of the zone of the request; empty for none.
	Zone string
	// Changes is the body of ChangeResourceRecordSets.
	Changes []Change
}

// Op implements [apitest.Call].
func (c Call) Op() string { return c.Operation }

// Fault is how a request fails.
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

// Hooks make requests fail.
type Hooks = apitest.Hooks[Call, Fault]

// SetPropagation sets the time until changes become INSYNC.
func (s *Server) SetPropagation(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.propagation = d
}
