package awssd

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/cloudmaptest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unhurried is a rate at which nothing waits.
const unhurried = 1e6

// start starts a server, and has the SDK find it as programs of users do (spec/clouds.md §0.1).
func start(t *testing.T) *cloudmaptest.Server {
	t.Helper()
	server := cloudmaptest.New()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	nowhere := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_SERVICEDISCOVERY": web.URL, "AWS_ACCESS_KEY_ID": cloudmaptest.AccessKeyID, "AWS_SECRET_ACCESS_KEY": cloudmaptest.SecretAccessKey,
		"AWS_SESSION_TOKEN": "", "AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_CA_BUNDLE": "", "AWS_ENDPOINT_URL": "",
		"AWS_CONFIG_FILE": nowhere, "AWS_SHARED_CREDENTIALS_FILE": nowhere, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	return server
}

func input() provider.Input {
	in := providertest.Input()
	in.OwnerID = "me"
	return in
}

// configure returns a config for tests, with flags.
func configure(t *testing.T, arguments ...string) *Config {
	t.Helper()
	c := newConfig()
	c.rate, c.dataRate, c.poll = unhurried, unhurried, time.Millisecond
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Flags(flags)
	c.Access.Flags(flags)
	if err := flags.Parse(arguments); err != nil {
		t.Fatal(err)
	}
	return c
}

// open opens a provider with flags.
func open(t *testing.T, in provider.Input, arguments ...string) *cloudMap {
	t.Helper()
	p, err := configure(t, arguments...).Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*cloudMap)
}

// over has requests reach a server without a network.
func over(server *cloudmaptest.Server) func(http.RoundTripper) http.RoundTripper {
	return func(http.RoundTripper) http.RoundTripper { return server.Transport() }
}
