package pdns

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/pdnstest"
	"github.com/signpostd/signpost/testkit/providertest"
)

const apiKey = pdnstest.APIKey

// server is the PowerDNS of these tests.
var server *pdnstest.Server

func TestMain(m *testing.M) {
	providertest.Main(m, "PowerDNS", func() (func(), error) {
		var err error
		if server, err = pdnstest.Start(context.Background(), pdnstest.Config{}); err != nil {
			return nil, err
		}
		return server.Stop, nil
	})
}

func mustRequest(t *testing.T, method, path string, message any) {
	t.Helper()
	if _, err := server.Request(context.Background(), method, path, message); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// newZone makes a zone, without a dot at its end.
func newZone(t *testing.T, name string) dns.Zone {
	t.Helper()
	if err := server.CreateZone(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustRequest(t, http.MethodDelete, "zones/"+name+".", nil) })
	return dns.Zone{ID: name + ".", Name: name}
}

var zones atomic.Int64

func freshZone(t *testing.T) dns.Zone {
	t.Helper()
	return newZone(t, fmt.Sprintf("z%d.example.test", zones.Add(1)))
}

var input = providertest.Input

func open(t *testing.T, in provider.Input) *powerDNS {
	t.Helper()
	return providertest.Open[*powerDNS](t, &Config{Server: server.API, ServerID: "localhost", APIKey: apiKey}, in)
}
