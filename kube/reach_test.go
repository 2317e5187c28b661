package kube

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Each answer of a server is a version, or one sentence with the address of the server.
func TestReach(t *testing.T) {
	for name, test := range map[string]struct {
		code int
		body string
		want string // ADDR stands for the address
	}{
		"an API server":         {code: 200, body: `{"gitVersion": "v1.35.0"}`},
		"no right":              {code: 403},
		"wrong credentials":     {code: 401, want: "the API server ADDR doesn't accept the credentials: "},
		"503":                   {code: 503, body: "overloaded", want: "the API server ADDR can't serve requests: the server is currently unable to handle the request"},
		"429":                   {code: 429, want: "the API server ADDR can't serve requests: "},
		"500":                   {code: 500, want: "the API server ADDR can't serve requests: "},
		"another server":        {code: 200, body: "<html>", want: "the server at ADDR is not an API server"},
		"a server without path": {code: 404, want: "the server at ADDR is not an API server"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			got, err := Reach(t.Context(), &rest.Config{Host: server.URL})
			want := strings.ReplaceAll(test.want, "ADDR", server.URL)
			switch {
			case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
				t.Errorf("the error is %v, want %s…", err, want)
			case want == "" && (err != nil || test.code == 200 && got != "v1.35.0"):
				t.Errorf("got %q, %v", got, err)
			case apierrors.IsUnauthorized(err) != (test.code == 401):
				t.Errorf("IsUnauthorized(%v) is wrong", err)
			}
		})
	}
}

// A server that takes connections and never responds costs ReachTimeout.
func TestReachASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, server) }()
			return client, nil
		}
		start := time.Now()
		_, err := Reach(t.Context(), &rest.Config{Host: "http://192.0.2.1", Dial: silent})
		if err == nil || err.Error() != "the API server http://192.0.2.1 can't be reached: no answer in time" {
			t.Errorf("the error is %v", err)
		}
		if took := time.Since(start); took != ReachTimeout {
			t.Errorf("it took %v, want %v", took, ReachTimeout)
		}
	})
}

// An error of a request names the server, not the whole URL.
func TestExplainRequest(t *testing.T) {
	cause := errors.New("connection refused")
	for _, test := range []struct {
		err  error
		want string
	}{
		{cause, "connection refused"},
		{&url.Error{Op: "Get", URL: "https://192.0.2.1:6443/api/v1/pods?limit=500", Err: cause}, "the API server https://192.0.2.1:6443 can't be reached: connection refused"},
		{&url.Error{Op: "Get", URL: "https://192.0.2.1:6443/version", Err: context.DeadlineExceeded}, "the API server https://192.0.2.1:6443 can't be reached: no answer in time"},
		{
			// The port of the client would make each failure another text.
			&url.Error{Op: "Get", URL: "https://192.0.2.1:6443/version", Err: &net.OpError{
				Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 40000}, Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 6443}, Err: cause,
			}},
			"the API server https://192.0.2.1:6443 can't be reached: read tcp 192.0.2.1:6443: connection refused",
		},
	} {
		if got := ExplainRequest(test.err); got.Error() != test.want {
			t.Errorf("got %v, want %s", got, test.want)
		}
	}
}
