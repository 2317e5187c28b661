package webhook

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// A redirection to another host is not followed, because that may be one that only this machine
// can reach; the error shows nothing that could be mistaken for a line of the log (tenants S15).
func TestRedirections(t *testing.T) {
	var reached atomic.Int64
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		_, _ = io.WriteString(w, "[]")
	}))
	defer secret.Close()
	target := "/records2"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", MediaType)
		switch r.URL.Path {
		case "/":
			_, _ = io.WriteString(w, `{}`)
		case "/records":
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(w, strings.Repeat("\x1b[31m\nlevel=error ", 1000))
		case "/records2":
			_, _ = io.WriteString(w, `[{"dnsName":"a.example","recordType":"A","targets":["192.0.2.1"]}]`)
		}
	}))
	defer web.Close()
	direct := &http.Transport{}
	defer direct.CloseIdleConnections()
	in := provider.Input{Log: slog.New(slog.DiscardHandler), Wrap: func(http.RoundTripper) http.RoundTripper { return direct }}
	p := open(t, in, func(c *Config) { c.URL = web.URL })
	if sets, err := p.Records(t.Context(), dns.Zone{}); err != nil || len(sets) != 1 {
		t.Errorf("to the same host: %v, %v", sets, err)
	}
	for _, target = range []string{secret.URL + "/records2", strings.Replace(web.URL, "http:", "https:", 1) + "/records2"} {
		_, err := p.Records(t.Context(), dns.Zone{})
		if err == nil || !strings.Contains(err.Error(), "--webhook-provider-url") || len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\n\x1b") || strings.Contains(err.Error(), `\x1b`) {
			t.Errorf("to %s: %v", target, err)
		}
		if errors.Is(err, provider.ErrRejected) {
			t.Errorf("to %s: it seems that changes were refused: %v", target, err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("the other host was asked %d times", n)
	}
}
