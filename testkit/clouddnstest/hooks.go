package clouddnstest

import (
	"github.com/signpostd/signpost/testkit/apitest"
)

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

// Op implements [apitest.Call].
func (c Call) Op() string { return c.Operation }

// Fault is how a request fails.
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

// Hooks make requests fail.
type Hooks = apitest.Hooks[Call, Fault]
