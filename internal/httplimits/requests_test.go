package httplimits

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// If all places are taken, the oldest request of the host with the most loses its place to a host with fewer.
func TestLimit(t *testing.T) {
	const atATime = 3
	begun := make(chan *http.Request)
	release := make(chan struct{})
	handler := Limit(atATime, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			begun <- r
			select {
			case <-r.Context().Done():
			case <-release:
			}
		}),
	)
	codes := make(chan int)
	send := func(from string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		codes <- w.Code
	}
	var greedy []*http.Request
	for range atATime {
		go send("192.0.2.1:1")
		greedy = append(greedy, <-begun)
	}
	go send("192.0.2.1:1")
	if code := <-codes; code != http.StatusServiceUnavailable {
		t.Errorf("another request of the same host: %d", code)
	}
	go send("192.0.2.2:1")
	<-begun
	<-greedy[0].Context().Done()
	<-codes
	go send("192.0.2.2:1")
	if code := <-codes; code != http.StatusServiceUnavailable {
		t.Errorf("a second request of the other host: %d", code)
	}
	for _, r := range greedy[1:] {
		if r.Context().Err() != nil {
			t.Error("a second request of the host has lost its place")
		}
	}
	close(release)
	for range atATime {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("status %d", code)
		}
	}
}
