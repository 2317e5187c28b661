package webhook

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is an answer of a program.
type reply struct {
	status int
	// media is the Content-Type. It is empty for the right one, and "-" for none.
	media, body string
}

// program is a transport that answers like a webhook provider.
type program struct {
	// replies are by "METHOD path". They are used in turn, and the last one is used for ever.
	// A status of zero stands for no answer.
	replies map[string][]reply
	// asked are the requests, with their bodies and how long after the first one.
	asked []request
	start time.Time
	// drained is how many bodies were read to their end and closed.
	drained int
}

type request struct {
	what, body string
	after      time.Duration
	header     http.Header
}

// speaking returns a program that behaves as it should.
func speaking() *program {
	return &program{replies: map[string][]reply{
		"GET /":                 {{status: 200, body: `{}`}},
		"GET /records":          {{status: 200, body: `[]`}},
		"POST /records":         {{status: 204}},
		"POST /adjustendpoints": {{status: 200, body: `[]`}},
	}}
}

func (p *program) with(what string, replies ...reply) *program {
	p.replies[what] = replies
	return p
}

func (p *program) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if p.start.IsZero() {
		p.start = time.Now()
	}
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	path := req.URL.Path
	if path == "" {
		path = "/"
	}
	what := req.Method + " " + path
	p.asked = append(p.asked, request{what: what, body: string(body), after: time.Since(p.start), header: req.Header})
	queue := p.replies[what]
	if len(queue) == 0 {
		return &http.Response{StatusCode: http.StatusTeapot, Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
	}
	if len(queue) > 1 {
		p.replies[what] = queue[1:]
	}
	r := queue[0]
	if r.status == 0 {
		return nil, errors.New("connection refused")
	}
	header := http.Header{}
	switch r.media {
	case "":
		header.Set("Content-Type", MediaType)
	case "-":
	default:
		header.Set("Content-Type", r.media)
	}
	if r.status/100 == 3 {
		header.Set("Location", "/moved")
	}
	return &http.Response{StatusCode: r.status, Header: header, Body: &drainedBody{Reader: strings.NewReader(r.body), of: p}, Request: req}, nil
}

type drainedBody struct {
	io.Reader
	of *program
}

func (b *drainedBody) Close() error {
	if n, err := b.Read(make([]byte, 1)); n == 0 && errors.Is(err, io.EOF) {
		b.of.drained++
	}
	return nil
}

func (p *program) requests() []string {
	var all []string
	for _, r := range p.asked {
		all = append(all, r.what)
	}
	return all
}

func input(p *program) provider.Input {
	return provider.Input{
		Domains: dns.NewDomainFilter(nil, nil), Log: slog.New(slog.DiscardHandler),
		Wrap: func(http.RoundTripper) http.RoundTripper { return p },
	}
}

func open(t *testing.T, in provider.Input, change ...func(*Config)) *remote {
	t.Helper()
	c := Plugin().New().(*Config)
	for _, f := range change {
		f(c)
	}
	return providertest.Open[*remote](t, c, in)
}

func set(name, recordType string, targets ...string) *dns.RecordSet {
	return &dns.RecordSet{Name: name, Type: recordType, Targets: targets, TTL: 60}
}

// --tls-ca, --tls-client-cert and --tls-client-cert-key were not read (D16).
func TestTLSFiles(t *testing.T) {
	in := input(speaking())
	in.TLS.CA = "/does/not/exist.pem"
	if _, err := Plugin().New().Open(t.Context(), in); err == nil || !strings.Contains(err.Error(), "--tls-ca") {
		t.Errorf("error %v, want one about --tls-ca", err)
	}
}

func TestOpenErrors(t *testing.T) {
	tests := map[string]struct {
		change func(*Config)
		want   string
	}{
		"scheme":   {func(c *Config) { c.URL = "localhost:8888" }, "--webhook-provider-url"},
		"no host":  {func(c *Config) { c.URL = "http://" }, "--webhook-provider-url"},
		"not URL":  {func(c *Config) { c.URL = "http://u:the-secret@h:port" }, "--webhook-provider-url"},
		"password": {func(c *Config) { c.URL = "ftp://u:the-secret@h" }, "--webhook-provider-url"},
		"no time":  {func(c *Config) { c.ReadTimeout, c.WriteTimeout = 0, 0 }, "--webhook-provider-read-timeout"},
		"size":     {func(c *Config) { c.MaxBodySize = -1 }, "--webhook-provider-max-body-size"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Plugin().New().(*Config)
			tt.change(c)
			_, err := c.Open(t.Context(), input(speaking()))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "the-secret") {
				t.Errorf("error %v, want one about %s", err, tt.want)
			}
		})
	}
}
