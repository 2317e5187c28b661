package main

import "net/http"

// unwarned drops the warnings of the API server, which come with each write of Endpoints, that
// these are deprecated. Nobody can act on them, and client-go reads them before it asks
// whether anybody wants them.
type unwarned struct{ next http.RoundTripper }

// WrappedRoundTripper lets client-go find the connections, to close them.
func (u unwarned) WrappedRoundTripper() http.RoundTripper { return u.next }

// RoundTrip implements http.RoundTripper.
func (u unwarned) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := u.next.RoundTrip(request)
	if err == nil {
		response.Header.Del("Warning")
	}
	return response, err
}
