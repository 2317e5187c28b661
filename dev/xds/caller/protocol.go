// Package caller is the client of dev/xds that is written in Go, and the protocol that the clients
// in all languages speak: one [Request] for each line of the standard input, and one [Reply] for
// each of the standard output, as JSON.
//
// A client keeps one channel for each target. It calls the methods of the backends in [Methods],
// which take nothing and return the name of the backend. The Go client also calls
// http://ADDRESS/METHOD, for Envoy.
//
// # Concurrency
//
// A [Caller] is used by one goroutine at a time.
package caller

import "time"

// Service is the gRPC service of the backends.
const Service = "signpost.dev.Echo"

// Methods of the backends.
const (
	// Who returns the name of the backend, a google.protobuf.StringValue.
	Who = "Who"
	// Slow does the same after five seconds.
	Slow = "Slow"
	// Flaky fails with Unavailable, unless the call is a retry.
	Flaky = "Flaky"
)

// What a client can be asked to do.
const (
	// Call makes calls one after the other, and replies when the last one has ended.
	Call = "call"
	// Start begins to make calls at a constant rate, and replies at once.
	Start = "start"
	// Stop ends that, waits for the calls that run, and replies.
	Stop = "stop"
)

// Request is what a client is to do.
type Request struct {
	Do     string `json:"do"`
	Target string `json:"target,omitempty"`
	Method string `json:"method,omitempty"`
	// Headers are the metadata of each call.
	Headers map[string]string `json:"headers,omitempty"`
	// Count is how many calls Call makes, PerSecond how many Start makes in a second.
	Count     int `json:"count,omitempty"`
	PerSecond int `json:"perSecond,omitempty"`
	// TimeoutMS is the deadline of each call.
	TimeoutMS int `json:"timeoutMS,omitempty"`
	// IdleMS is after how long without a call the channel becomes idle; 0 for the default. The first
	// request for a target decides. Only the clients in Go and Java know it.
	IdleMS int `json:"idleMS,omitempty"`
	// XDSCredentials lets Clusters decide about TLS; without TLS in the Cluster, calls are in plain text. The
	// first request for a target decides.
	XDSCredentials bool `json:"xdsCredentials,omitempty"`
}

// Reply is the outcome of calls.
type Reply struct {
	Calls  int `json:"calls"`
	Failed int `json:"failed"`
	// By has the number of calls that each backend answered.
	By map[string]int `json:"by,omitempty"`
	// Errors has the number of failures by code and text, such as "UNAVAILABLE: no Service".
	Errors map[string]int `json:"errors,omitempty"`
	// FirstMS is how long the first call took, ShortestMS and LongestMS the shortest and the longest one.
	FirstMS    float64 `json:"firstMS"`
	ShortestMS float64 `json:"shortestMS"`
	LongestMS  float64 `json:"longestMS"`
}

// maxErrors is how many different errors a reply has, and maxError how long each is.
const (
	maxErrors = 20
	maxError  = 300
)

// count adds the outcome of a call.
func (r *Reply) count(by, failure string, took time.Duration) {
	ms := float64(took.Microseconds()) / 1000
	if r.Calls++; r.Calls == 1 {
		r.FirstMS, r.ShortestMS, r.By, r.Errors = ms, ms, map[string]int{}, map[string]int{}
	}
	r.ShortestMS, r.LongestMS = min(r.ShortestMS, ms), max(r.LongestMS, ms)
	if failure == "" {
		r.By[by]++
		return
	}
	r.Failed++
	failure = failure[:min(len(failure), maxError)]
	if _, known := r.Errors[failure]; known || len(r.Errors) < maxErrors {
		r.Errors[failure]++
	}
}
