package awssd

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/awstest"
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
	awstest.Start(t, server, "AWS_ENDPOINT_URL_SERVICEDISCOVERY", "eu-north-1")
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
	return providertest.Configure(t, c, arguments...)
}

// open opens a provider with flags.
func open(t *testing.T, in provider.Input, arguments ...string) *cloudMap {
	t.Helper()
	return providertest.Open[*cloudMap](t, configure(t, arguments...), in)
}
