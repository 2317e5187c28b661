package route53test

import (
	"time"

	"github.com/signpostd/signpost/testkit/apitest"
)

// Call is a request to the API.
type Call struct {
	// Operation is the name of the action, such as ListHostedZones.
	Operation string
	// Zone is the ID of the zone that it is about; empty is none.
	Zone string
	// Changes are those of ChangeResourceRecordSets.
	Changes []Change
}

// Op implements [apitest.Call].
func (c Call) Op() string { return c.Operation }

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

// Hooks make requests fail.
type Hooks = apitest.Hooks[Call, Fault]

// SetPropagation has changes become INSYNC some time after they are made.
func (s *Server) SetPropagation(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.propagation = d
}
