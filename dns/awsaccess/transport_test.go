package awsaccess

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/handlertransport"
)

// Answers have a size, and a dry run sends only what reads.
func TestGate(t *testing.T) {
	pace := NewPace(1e6)
	g := LimitedTransport{
		Next: handlertransport.Func(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 100)))}, nil
		}),
		Pace: func(*http.Request) *Pace { return pace }, Reads: func(r *http.Request) bool { return r.Method == http.MethodGet }, DryRun: true, Limit: 10,
	}
	send := func(method string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://example.test/", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		return g.RoundTrip(req)
	}
	resp, err := send(http.MethodGet)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); !errors.Is(err, httpapi.ErrTooLarge) {
		t.Errorf("%d bytes were read, %v", len(body), err)
	}
	if resp, err := send(http.MethodPost); !errors.Is(err, provider.ErrDryRun) {
		_ = resp.Body.Close()
		t.Errorf("a dry run: %v", err)
	}
}
