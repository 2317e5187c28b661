package google

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prepare gives the process the credentials of the server, and nothing else of Google's.
func prepare(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file, clouddnstest.CredentialsJSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		credentialsFile: file, "GCE_METADATA_HOST": "metadata.invalid", "GOOGLE_CLOUD_QUOTA_PROJECT": "", "GOOGLE_CLOUD_UNIVERSE_DOMAIN": "",
		"GOOGLE_API_USE_CLIENT_CERTIFICATE": "", "HOME": t.TempDir(), "CLOUDSDK_CONFIG": "",
	} {
		t.Setenv(name, value)
	}
}

func input(server *clouddnstest.Server) provider.Input {
	in := providertest.Input()
	in.Wrap = providertest.Through(server.Transport())
	return in
}

// configure returns a config for tests, with flags.
func configure(t *testing.T, arguments ...string) *Config {
	t.Helper()
	c := newConfig()
	c.Project, c.BatchInterval = clouddnstest.Project, time.Millisecond
	return providertest.Configure(t, c, arguments...)
}

// open opens a provider with flags.
func open(t *testing.T, in provider.Input, arguments ...string) *cloudDNS {
	t.Helper()
	return providertest.Open[*cloudDNS](t, configure(t, arguments...), in)
}
