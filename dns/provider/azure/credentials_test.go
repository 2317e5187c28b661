package azure

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"testing"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/azuretest"
)

// If the secret of the application is replaced in the configuration file, the next request uses the new one. A
// file that isn't complete leaves the secret in use.
func TestReplacedSecret(t *testing.T) {
	server := azuretest.New()
	in := input()
	in.Wrap = func(http.RoundTripper) http.RoundTripper { return server.Transport() }
	file := settingsFile(t, nowhere, map[string]any{"aadClientSecret": "expired-secret"})
	p := open(t, in, false, "--azure-config-file="+file)
	if _, err := p.Zones(t.Context()); !errors.Is(err, provider.ErrCredentials) {
		t.Fatalf("with an expired secret: %v", err)
	}
	expired, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	valid := bytes.ReplaceAll(expired, []byte("expired-secret"), []byte(azuretest.ClientSecret))
	for _, text := range [][]byte{valid, valid[:len(valid)/2], nil, []byte("{}")} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Zones(t.Context()); err != nil {
			t.Errorf("with a file of %d of %d bytes: %v", len(text), len(valid), err)
		}
	}
}
