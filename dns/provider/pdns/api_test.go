package pdns

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

func TestOpenErrors(t *testing.T) {
	good := Config{Server: "http://localhost:8081", ServerID: "localhost", APIKey: "the-secret"}
	notPEM := filepath.Join(t.TempDir(), "x.pem")
	if err := os.WriteFile(notPEM, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*Config, *provider.Input)
		want   string
	}{
		"no key":        {func(c *Config, _ *provider.Input) { c.APIKey = "" }, "--pdns-api-key"},
		"no URL":        {func(c *Config, _ *provider.Input) { c.Server = "http://u:the-secret@h:port" }, "--pdns-server"},
		"scheme":        {func(c *Config, _ *provider.Input) { c.Server = "localhost:8081" }, "--pdns-server"},
		"no server":     {func(c *Config, _ *provider.Input) { c.ServerID = "" }, "--pdns-server-id"},
		"missing CA":    {func(_ *Config, in *provider.Input) { in.TLS.CA = "missing" }, "--tls-ca"},
		"bad CA":        {func(_ *Config, in *provider.Input) { in.TLS.CA = notPEM }, "--tls-ca"},
		"half a pair":   {func(_ *Config, in *provider.Input) { in.TLS.Cert = notPEM }, "--tls-client-cert"},
		"not a pair":    {func(_ *Config, in *provider.Input) { in.TLS.Cert, in.TLS.Key = notPEM, notPEM }, "--tls-client-cert"},
		"nothing wrong": {func(*Config, *provider.Input) {}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, in := good, input()
			tt.change(&c, &in)
			_, err := c.Open(t.Context(), in)
			if tt.want == "" && err == nil {
				return
			}
			if err == nil || tt.want == "" || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "the-secret") {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		})
	}
}

// script is a transport that answers with each status in turn, where -1 is no answer. It
// remembers the requests and their times.
type script struct {
	statuses []int
	times    []time.Duration
	requests []string
	start    time.Time
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if s.start.IsZero() {
		s.start = time.Now()
	}
	s.times = append(s.times, time.Since(s.start))
	s.requests = append(s.requests, req.Method+" "+req.URL.String()+" "+req.Header.Get("X-API-Key"))
	status := s.statuses[0]
	if len(s.statuses) > 1 {
		s.statuses = s.statuses[1:]
	}
	if status < 0 {
		return nil, errors.New("connection refused")
	}
	body := `{"error":"what PowerDNS says"}`
	if status == http.StatusOK {
		body = `[{"id":"example.test.","name":"example.test."}]`
		if !strings.HasSuffix(req.URL.Path, "/zones") {
			body = `{"id":"example.test.","name":"example.test.","rrsets":[
				{"name":"www.example.test.","type":"A","ttl":60,"records":[{"content":"192.0.2.1"}]}]}`
		}
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Location": {"http://elsewhere/"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

func scripted(t *testing.T, in provider.Input, statuses ...int) (*powerDNS, *script) {
	t.Helper()
	s := &script{statuses: statuses}
	in.Wrap = func(http.RoundTripper) http.RoundTripper { return s }
	p, err := (&Config{Server: "http://proxy.test/pdns/", ServerID: "local/host", APIKey: apiKey}).Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*powerDNS), s
}

func TestTries(t *testing.T) {
	const ms = time.Millisecond
	three := []time.Duration{0, 250 * ms, 750 * ms}
	tests := map[string]struct {
		statuses []int
		times    []time.Duration
		ok       bool
		is       error
	}{
		"at once":           {[]int{200}, three[:1], true, nil},
		"second try":        {[]int{500, 200}, three[:2], true, nil},
		"third try":         {[]int{-1, 503, 200}, three, true, nil},
		"never":             {[]int{500}, three, false, nil},
		"no answer":         {[]int{-1}, three, false, nil},
		"too many requests": {[]int{429, 200}, three[:2], true, nil},
		"not found":         {[]int{404}, three[:1], false, nil},
		"redirection":       {[]int{301}, three[:1], false, nil},
		"key":               {[]int{401}, three[:1], false, provider.ErrCredentials},
		"forbidden":         {[]int{403}, three[:1], false, provider.ErrCredentials},
		"unprocessable":     {[]int{422}, three[:1], false, provider.ErrRejected},
		"bad request":       {[]int{400}, three[:1], false, provider.ErrRejected},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, s := scripted(t, input(), tt.statuses...)
				zones, err := p.Zones(t.Context())
				if (err == nil) != tt.ok || tt.ok && len(zones) != 1 {
					t.Errorf("zones %v, error %v", zones, err)
				}
				for _, class := range []error{provider.ErrCredentials, provider.ErrRejected} {
					if errors.Is(err, class) != (class == tt.is) {
						t.Errorf("error %v is %v: %v", err, class, !(class == tt.is))
					}
				}
				if diff := cmp.Diff(tt.times, s.times); diff != "" {
					t.Errorf("asked at (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// The path of a proxy is kept, and IDs are escaped. A zone is read right before it is changed,
// and a change that may have arrived isn't sent again, since somebody else may have written
// meanwhile.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := scripted(t, input(), 200, 502, 200, 502)
		if _, err := p.Zones(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := p.Apply(t.Context(), dns.Zone{ID: "example.test.", Name: "example.test"}, []dns.Change{{Old: set("www.example.test", dns.TypeA, "192.0.2.1")}})
		if _, known := errors.AsType[*provider.ApplyError](err); err == nil || known || errors.Is(err, provider.ErrRejected) {
			t.Fatalf("error %v, want one after which nobody knows", err)
		}
		const base = "http://proxy.test/pdns/api/v1/servers/local%2Fhost/zones"
		want := []string{"GET " + base + " " + apiKey, "GET " + base + "/example.test. " + apiKey, "GET " + base + "/example.test. " + apiKey, "PATCH " + base + "/example.test. " + apiKey}
		if diff := cmp.Diff(want, s.requests); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

func TestTriesEndWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := scripted(t, input(), 500)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := p.Zones(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "what PowerDNS says") {
			t.Errorf("error %v", err)
		}
		if len(s.times) != 2 || time.Since(start) != 300*time.Millisecond {
			t.Errorf("asked at %v, ended after %v", s.times, time.Since(start))
		}
	})
}

func TestUnknownZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := scripted(t, input(), 500)
		if p.DomainFilter(t.Context()).Match("www.example.test") {
			t.Error("a name passes although no zone is known")
		}
	})
}

func TestDryRunTransport(t *testing.T) {
	in := input()
	in.DryRun = true
	p, s := scripted(t, in, 200)
	if _, err := p.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := p.api.patch(t.Context(), "example.test.", []rrset{{Name: "www.example.test.", Type: "A", ChangeType: changeDelete}})
	if !errors.Is(err, provider.ErrDryRun) || len(s.requests) != 1 {
		t.Errorf("error %v, requests %v", err, s.requests)
	}
}

func TestTLS(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("[]"))
	}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		ca   string
		skip bool
		ok   bool
	}{
		"CA": {ca: ca, ok: true}, "skip": {skip: true, ok: true}, "unknown": {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := input()
			in.TLS.CA = tt.ca
			p, err := (&Config{Server: secure.URL, ServerID: "localhost", APIKey: apiKey, SkipTLSVerify: tt.skip}).Open(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Zones(t.Context())
			var unknown x509.UnknownAuthorityError
			if (err == nil) != tt.ok || !tt.ok && !errors.As(err, &unknown) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Any answer of a server leads to an error, or to a listing of valid record sets.
func FuzzZone(f *testing.F) {
	f.Add([]byte(`{"rrsets":[{"name":"a.test.","type":"ALIAS","ttl":1,"records":[{"content":"b.test.","disabled":false}]}]}`))
	f.Add([]byte(`{"rrsets":[{"name":"","type":"TXT","records":[{"content":"\"x"},null]}]}`))
	f.Add([]byte(`{"rrsets":[null,{}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		in := input()
		in.Wrap = func(http.RoundTripper) http.RoundTripper { return answer(body) }
		p, err := (&Config{Server: "http://pdns.test", ServerID: "localhost", APIKey: apiKey}).Open(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		listed, err := p.Records(t.Context(), dns.Zone{ID: "test.", Name: "test"})
		if err != nil {
			return
		}
		for _, r := range listed {
			if len(r.Targets) == 0 || r.Type == typeAlias || r.TTL < 0 {
				t.Errorf("listed %+v", r)
			}
		}
	})
}

type answer []byte

func (a answer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(a)), Request: req}, nil
}
