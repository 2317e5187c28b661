package azuretest

import (
	"strconv"

	"github.com/signpostd/signpost/testkit/apitest"
)

// The operations.
const (
	ListZones = "ListZones"
	ListSets  = "ListSets"
	Get       = "Get"
	Put       = "Put"
	Delete    = "Delete"
)

// Call is a request to the API. A request for a token has the operation Token.
type Call struct {
	Operation string
	// Zone is the name of the zone of the request; empty for none.
	Zone string
	// Name and Type identify the record set; empty for none.
	Name, Type           string
	IfMatch, IfNoneMatch string
}

// Writes reports whether the request changes something.
func (c Call) Writes() bool { return c.Operation == Put || c.Operation == Delete }

// Op implements [apitest.Call].
func (c Call) Op() string { return c.Operation }

// Fault is how a request fails.
type Fault struct {
	Status        int
	Code, Message string
	RetryAfter    string
	// Bare is true if code and message are at the top level instead of in an object. Azure uses both forms.
	Bare bool
	// Cut is true if the connection is closed without a response.
	Cut bool
}

// The faults that tests use most.
var (
	// Failed is an internal error of Azure.
	Failed = &Fault{Status: 500, Code: "InternalServerError", Message: "Encountered internal server error."}
	// Lost is a connection that is closed without a response.
	Lost = &Fault{Cut: true}
	// Refused is Azure's response to an invalid record set.
	Refused = &Fault{Status: 400, Code: "BadRequest", Message: "The record set is not what it should be.", Bare: true}
)

// Throttled is Azure's response to too many requests (azure-resource-manager, request-limits-and-throttling).
// Retry-After is set to seconds, unless that is zero.
func Throttled(seconds int) *Fault {
	f := &Fault{Status: 429, Code: "TooManyRequests", Message: "The request is being throttled as the limit has been reached for operation type - Write_ObservationWindow."}
	if seconds > 0 {
		f.RetryAfter = strconv.Itoa(seconds)
	}
	return f
}

// Hooks make requests fail.
type Hooks = apitest.Hooks[Call, Fault]

// SetPage sets the largest page of a listing.
func (s *Server) SetPage(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = n
}

// Revoke ends all tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}
