package aws

import (
	"net/http"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/awstest"
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
	awstest.Start(t, server, "AWS_ENDPOINT_URL_ROUTE_53", "")
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
	return func(http.RoundTripper) http.RoundTripper { return providertest.Counting(server.Transport(), sent) }
}
