package google

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/clouddnstest"
)

// If the key of the service account is replaced in the credentials file, the next request uses the new one. A
// file that isn't complete leaves the key in use.
func TestReplacedKey(t *testing.T) {
	prepare(t)
	server := clouddnstest.New()
	server.AddZone(clouddnstest.Zone{Name: shop, DNSName: zoneName})
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(os.Getenv(credentialsFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	valid := clouddnstest.CredentialsJSON()
	write(bytes.ReplaceAll(valid, []byte(clouddnstest.Account), []byte("deleted@test.iam.gserviceaccount.com")))
	p := open(t, input(server))
	if _, err := p.Zones(t.Context()); !errors.Is(err, provider.ErrCredentials) {
		t.Fatalf("with a key that was deleted: %v", err)
	}
	for _, text := range [][]byte{valid, valid[:len(valid)/2], nil} {
		write(text)
		if zones, err := p.Zones(t.Context()); err != nil || len(zones) != 1 {
			t.Errorf("with a file of %d of %d bytes: %v, %v", len(text), len(valid), zones, err)
		}
	}
}
