package azuretest

import (
	"strconv"
	"time"

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

// Call is a request to the API. One for a token has the operation Token.
type Call struct {
	Operation string
	// Zone is the name of the zone that it is about; empty is none.
	Zone string
	// Name and Type are those of the record set; empty is none.
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
	// Bare is true if the code and the message aren't in an object. Azure has both forms.
	Bare bool
	// Cut is true if the connection is closed without an answer.
	Cut bool
}

// The faults of Azure that tests ask for most.
var (
	// Failed is what Azure answers when it fails itself.
	Failed = &Fault{Status: 500, Code: "InternalServerError", Message: "Encountered internal server error."}
	// Lost is a connection that ends without an answer.
	Lost = &Fault{Cut: true}
	// Refused is what Azure answers to a record set that can't be.
	Refused = &Fault{Status: 400, Code: "BadRequest", Message: "The record set is not what it should be.", Bare: true}
)

// Throttled is what Azure answers to too many requests (azure-resource-manager,
// request-limits-and-throttling): it says after how many seconds to come back, unless that is
// zero.
func Throttled(seconds int) *Fault {
	f := &Fault{Status: 429, Code: "TooManyRequests", Message: "The request is being throttled as the limit has been reached for operation type - Write_ObservationWindow."}
	if seconds > 0 {
		f.RetryAfter = strconv.Itoa(seconds)
	}
	return f
}

// Hooks make requests fail.
type Hooks = apitest.Hooks[Call, Fault]

// SetPage sets the most entries of a page of a listing.
func (s *Server) SetPage(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = n
}

// SetLimit limits how many requests are answered in a time; zero is any number. Others get
// [Throttled].
func (s *Server) SetLimit(requests int, in time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit, s.window, s.sent = requests, in, nil
}

// Revoke ends all tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}
