package aws

import (
	"testing"
	"time"

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
	return providertest.Configure(t, c, arguments...)
}

// open opens a provider with flags.
func open(t *testing.T, in provider.Input, arguments ...string) *route53Provider {
	t.Helper()
	return providertest.Open[*route53Provider](t, configure(t, arguments...), in)
}
