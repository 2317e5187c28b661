package azure

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
	"github.com/signpostd/signpost/testkit/azuretest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// audiences counts what tokens are for. The SDK keeps those of managed identities for all of the
// process.
var audiences atomic.Int64

// settingsFile writes a file for --azure-config-file, with other settings for some keys, and
// returns its path.
func settingsFile(t *testing.T, address string, others map[string]any) string {
	t.Helper()
	all := map[string]any{
		"cloud": "AzureStackCloud", "tenantId": azuretest.Tenant, "subscriptionId": azuretest.Subscription, "resourceGroup": azuretest.Group,
		"aadClientId": azuretest.ClientID, "aadClientSecret": azuretest.ClientSecret, "vmType": "vmss",
		"resourceManagerEndpoint": address, "resourceManagerAudience": fmt.Sprintf("https://management-%d.invalid/", audiences.Add(1)), "activeDirectoryAuthorityHost": address,
	}
	for k, v := range others {
		all[k] = v
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "azure.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// start serves a server over TLS, and returns its address and the file with its certificate.
func start(t *testing.T, server *azuretest.Server) (address, ca string) {
	t.Helper()
	web := httptest.NewUnstartedServer(server)
	// It would report each connection that is closed before it is used.
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	t.Cleanup(web.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return web.URL, ca
}

var input = providertest.Input

// configure returns a config with flags.
func configure(t *testing.T, private bool, arguments ...string) *Config {
	t.Helper()
	return providertest.Configure(t, newConfig(private), arguments...)
}

// open opens a provider with flags.
func open(t *testing.T, in provider.Input, private bool, arguments ...string) *azureProvider {
	t.Helper()
	return providertest.Open[*azureProvider](t, configure(t, private, arguments...), in)
}

// nowhere is an address that only a transport knows.
const nowhere = "https://azure.invalid"

// travel is how long a request takes, in the time of testing/synctest.
const travel = 20 * time.Millisecond

// transportOf returns what has requests reach a server without a network.
func transportOf(server *azuretest.Server) func(http.RoundTripper) http.RoundTripper {
	return func(http.RoundTripper) http.RoundTripper {
		return handlertransport.Func(func(r *http.Request) (*http.Response, error) {
			time.Sleep(travel)
			return server.Transport().RoundTrip(r)
		})
	}
}

func isToken(r *http.Request) bool { return strings.Contains(r.URL.Path, "oauth2") }
