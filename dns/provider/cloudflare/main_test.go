package cloudflare

import (
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server, and has providers find it by the variable of the SDK.
func start(t *testing.T) *cloudflaretest.Server {
	t.Helper()
	server := cloudflaretest.New()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	environment(t, web.URL+"/client/v4")
	return server
}

// environment sets the credentials, and the address of the API.
func environment(t *testing.T, url string) {
	t.Helper()
	for name, value := range map[string]string{"CLOUDFLARE_BASE_URL": url, "CF_API_TOKEN": cloudflaretest.Token, "CF_API_KEY": "", "CF_API_EMAIL": ""} {
		t.Setenv(name, value)
	}
}

var input = providertest.Input

// configure returns a config with flags.
func configure(t *testing.T, arguments ...string) *Config {
	t.Helper()
	return providertest.Configure(t, newConfig(), arguments...)
}

// unhurried is how many requests may be sent at once where nothing is to wait.
const unhurried = 1e9

// open opens a provider with flags, whose requests don't wait.
func open(t *testing.T, in provider.Input, arguments ...string) *cloudflareProvider {
	t.Helper()
	p := providertest.Open[*cloudflareProvider](t, configure(t, arguments...), in)
	p.api.pace.most, p.api.pace.tokens = unhurried, unhurried
	return p
}
