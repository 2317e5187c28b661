package cloudflaretest

import (
	"net/url"
	"time"

	"github.com/signpostd/signpost/testkit/apitest"
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

// Op implements [apitest.Call].
func (c Call) Op() string { return c.Operation }

// Fault is how a request fails.
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

// Hooks make requests fail.
type Hooks = apitest.Hooks[Call, Fault]

// SetRate limits the requests per five minutes; zero means no limit. Further requests get [Throttled].
func (s *Server) SetRate(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate, s.used, s.since = requests, 0, time.Now()
}
