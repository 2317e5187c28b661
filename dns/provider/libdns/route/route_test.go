package route_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/provider/libdns/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// teapot is a transport that answers by itself.
type teapot struct{}

func (teapot) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Request: req}, nil
}

func status(t *testing.T, ctx context.Context, client *http.Client, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// Requests with the context go the other way, from every client without a transport; all others are
// sent as before.
func TestVia(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "usual") }))
	defer server.Close()
	via := route.Via(t.Context(), teapot{})
	for name, client := range map[string]*http.Client{"default": http.DefaultClient, "own": {}} {
		if code, _ := status(t, via, client, "https://api.example.invalid/"); code != http.StatusTeapot {
			t.Errorf("%s client: https with the context has the status %d", name, code)
		}
		if code, _ := status(t, via, client, server.URL); code != http.StatusTeapot {
			t.Errorf("%s client: http with the context has the status %d", name, code)
		}
		if code, body := status(t, t.Context(), client, server.URL); code != http.StatusOK || body != "usual" {
			t.Errorf("%s client: without the context the status is %d, and the body %q", name, code, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// Clones of the default transport, as the SDKs of vendors make them, know nothing of contexts, and
// speak HTTP/2.
func TestClone(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	clone := http.DefaultTransport.(*http.Transport).Clone()
	clone.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	client := &http.Client{Transport: clone}
	if _, body := status(t, route.Via(t.Context(), teapot{}), client, server.URL); body != "HTTP/2.0" {
		t.Errorf("a clone answers %q", body)
	}
	client.CloseIdleConnections()
}
