package aws

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/route53test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unhurried is a rate at which nothing waits.
const unhurried = 1e6

// start starts a server, and has the SDK find it as programs of users do (AW28 of spec/clouds.md).
func start(t *testing.T) *route53test.Server {
	t.Helper()
	server := route53test.New()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_ROUTE_53": web.URL, "AWS_ACCESS_KEY_ID": route53test.AccessKeyID, "AWS_SECRET_ACCESS_KEY": route53test.SecretAccessKey,
		"AWS_SESSION_TOKEN": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "", "AWS_ENDPOINT_URL": "",
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return server
}

var input = providertest.Input

// configure returns a config for tests, with flags.
func configure(t *testing.T, arguments ...string) *Config {
	t.Helper()
	c := newConfig()
	c.rate, c.BatchInterval = unhurried, time.Millisecond
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Flags(flags)
	c.Access.Flags(flags)
	if err := flags.Parse(arguments); err != nil {
		t.Fatal(err)
	}
	return c
}

// open opens a provider with flags.
func open(t *testing.T, in provider.Input, arguments ...string) *route53Provider {
	t.Helper()
	p, err := configure(t, arguments...).Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*route53Provider)
}

// transportOf returns what has requests reach a server without a network.
func transportOf(server *route53test.Server) func(http.RoundTripper) http.RoundTripper {
	return func(http.RoundTripper) http.RoundTripper { return server.Transport() }
}

// counting does so, and counts the requests.
func counting(server *route53test.Server, sent *int) func(http.RoundTripper) http.RoundTripper {
	return func(http.RoundTripper) http.RoundTripper { return counter{server.Transport(), sent} }
}

type counter struct {
	http.RoundTripper
	sent *int
}

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	*c.sent++
	return c.RoundTripper.RoundTrip(r)
}
