package cloudflaretest

import (
	"net/url"
	"time"

	"github.com/signpostd/signpost/testkit/apitest"
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

// Op implements [apitest.Call].
func (c Call) Op() string { return c.Operation }

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

// Hooks make requests fail.
type Hooks = apitest.Hooks[Call, Fault]

// SetRate limits how many requests are answered in five minutes; zero is for any number. Others
// get [Throttled].
func (s *Server) SetRate(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rate, s.used, s.since = requests, 0, time.Now()
}
