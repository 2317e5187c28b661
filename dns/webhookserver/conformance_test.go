package webhookserver_test

import (
	"context"
	"net"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/dns/provider/webhook"
	"github.com/signpostd/signpost/dns/webhookserver"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a webhook provider, and returns its URL.
func start(t *testing.T, zones ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, err := (&inmemory.Config{Zones: zones}).Open(t.Context(), provider.Input{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- webhookserver.New(defaults(p)).Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

func client(t *testing.T, url string, in provider.Input) provider.Provider {
	t.Helper()
	c := webhook.Plugin().New().(*webhook.Config)
	c.URL = url
	// Cleanups run after the test's context has ended, when the connections are closed.
	p, err := c.Open(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The webhook client and server together pass the conformance kit of providers.
func TestConformance(t *testing.T) {
	const zone, sub, reverse = "example.test", "sub.example.test", "2.0.192.in-addr.arpa"
	providertest.Run(t, providertest.Options{
		Types: []string{
			dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeNS, dns.TypeMX,
			dns.TypePTR, dns.TypeSRV, dns.TypeNAPTR, dns.TypeDNAME,
		},
		Properties: []string{"webhook/x"},
		// The protocol can't report that the provider made a part of the changes.
		Rejects: func(string) []*dns.RecordSet { return nil },
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			url := start(t, zone, sub, reverse)
			return providertest.Fixture{
				Provider: client(t, url, in), Zone: zone, Reverse: reverse,
				Reopen: func(t *testing.T) provider.Provider { return client(t, url, in) },
			}
		},
	})
}
