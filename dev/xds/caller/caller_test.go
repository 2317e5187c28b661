package caller

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A slow call delays no other one, and the end of a load waits for it.
func TestLoadKeepsItsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t.Context(), 200, func(context.Context) (string, string) {
			time.Sleep(time.Second)
			return "", "DEADLINE_EXCEEDED: it is slow"
		})
		time.Sleep(2*time.Second + time.Millisecond)
		r := l.end()
		if r.Calls < 400 || r.Calls > 402 || r.Failed != r.Calls {
			t.Errorf("%d calls, %d failed; want 400 of both", r.Calls, r.Failed)
		}
		if r.ShortestMS != 1000 || r.LongestMS != 1000 {
			t.Errorf("calls took %v to %v ms, want 1000", r.ShortestMS, r.LongestMS)
		}
	})
}

// A reply has at most 20 different errors, and each is cut.
func TestErrorsAreLimited(t *testing.T) {
	var r Reply
	for i := range 30 {
		r.count("", strings.Repeat(string(rune('a'+i)), 1000), time.Millisecond)
	}
	r.count("pod", "", time.Second)
	if len(r.Errors) != maxErrors || r.Failed != 30 || r.By["pod"] != 1 || r.LongestMS != 1000 || r.FirstMS != 1 {
		t.Errorf("%d errors, %+v", len(r.Errors), r)
	}
	for text := range r.Errors {
		if len(text) != maxError {
			t.Errorf("an error has %d bytes", len(text))
		}
	}
}

// Requests and replies are lines of JSON.
func TestServe(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("x-cluster") != "web" {
			http.Error(w, "no cluster", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("pod-1"))
	}))
	defer server.Close()
	var in, out bytes.Buffer
	for _, header := range []string{"web", "other"} {
		r := Request{Do: Call, Target: server.URL, Method: Who, Count: 3, TimeoutMS: 10_000, Headers: map[string]string{"x-cluster": header}}
		if err := json.NewEncoder(&in).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := Serve(t.Context(), &in, &out); err != nil {
		t.Fatal(err)
	}
	var replies [2]Reply
	d := json.NewDecoder(&out)
	for i := range replies {
		if err := d.Decode(&replies[i]); err != nil {
			t.Fatal(err)
		}
	}
	if replies[0].By["pod-1"] != 3 || replies[0].Failed != 0 {
		t.Errorf("first reply %+v", replies[0])
	}
	if replies[1].Errors["503 Service Unavailable: no cluster\n"] != 3 {
		t.Errorf("second reply %+v", replies[1])
	}
	if err := Serve(t.Context(), strings.NewReader(`{"do":"stop"}`), &out); err == nil {
		t.Error("a load that was not started can be stopped")
	}
}
