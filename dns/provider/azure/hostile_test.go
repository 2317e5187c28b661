package azure

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/hostiletest"
)

// A hostile or broken server costs a limited amount of memory, and an error says what it does
// (tenants S9). Only the server that gives tokens is sound.
func TestHostile(t *testing.T) {
	hostiletest.Run(t, "azure", func(t *testing.T, in provider.Input) provider.Provider {
		sound, hostile := azuretest.New().Transport(), in.Wrap(nil)
		in.Wrap = func(http.RoundTripper) http.RoundTripper {
			return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path[:15] == "/subscriptions/" {
					return hostile.RoundTrip(r)
				}
				return sound.RoundTrip(r)
			})
		}
		return open(t, in, false, "--azure-config-file="+settingsFile(t, nowhere, nil))
	})
}

// If another server responds, such as a proxy, then a zone isn't empty, a record set isn't missing, and a
// change isn't made, although the status says so.
func TestOtherServer(t *testing.T) {
	inBoth(t, func(w *fixture) {
		method, status, body := "", 0, ""
		in := input()
		in.Wrap = func(http.RoundTripper) http.RoundTripper {
			return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
				if r.Method == method && strings.HasPrefix(r.URL.Path, "/subscriptions/") {
					return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
				}
				return w.server.Transport().RoundTrip(r)
			})
		}
		p := open(w.T, in, w.private, w.arguments...)
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			w.T.Fatal(err)
		}
		one, two := set("a.shop.test", "A", "192.0.2.1"), set("b.shop.test", "A", "192.0.2.2")
		if err := p.Apply(w.T.Context(), zones[0], []dns.Change{{New: one}}); err != nil {
			w.T.Fatal(err)
		}
		for _, test := range []struct {
			method string
			status int
			body   string
			do     func() error
		}{
			{"GET", 200, "{}", func() error { _, err := p.Zones(w.T.Context()); return err }},
			{"GET", 200, "{}", func() error { _, err := p.Records(w.T.Context(), zones[0]); return err }},
			{"GET", 200, "{}", func() error { _, err := p.account.get(w.T.Context(), zoneName, key{"a", "A"}); return err }},
			{"GET", 404, "<html>", func() error { _, err := p.account.get(w.T.Context(), zoneName, key{"a", "A"}); return err }},
			{"PUT", 200, "{}", func() error { return p.Apply(w.T.Context(), zones[0], []dns.Change{{New: two}}) }},
			{"PUT", 404, "<html>", func() error { return p.Apply(w.T.Context(), zones[0], []dns.Change{{New: two}}) }},
			{"DELETE", 200, "", func() error { return p.Apply(w.T.Context(), zones[0], []dns.Change{{Old: one}}) }},
			{"DELETE", 204, "", func() error { return p.Apply(w.T.Context(), zones[0], []dns.Change{{Old: one}}) }},
		} {
			method, status, body = test.method, test.status, test.body
			if err := test.do(); err == nil || !strings.Contains(err.Error(), "it may come from a proxy") {
				t.Errorf("%s, %d %q: %v", test.method, test.status, test.body, err)
			}
			method = ""
			w.Expect("a A 192.0.2.1")
		}
	})
}
