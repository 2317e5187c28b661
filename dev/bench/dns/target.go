package dns

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/coredns"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/dns/provider/pdns"
	"github.com/signpostd/signpost/dns/provider/rfc2136"
	"github.com/signpostd/signpost/dns/provider/webhook"
	"github.com/signpostd/signpost/dns/webhookserver"
	"github.com/signpostd/signpost/testkit/etcdtest"
	"github.com/signpostd/signpost/testkit/pdnstest"
)

// dnsTarget is a server with the zone dnsZone, and a way past the publisher to read and write it.
type dnsTarget struct {
	flags []string
	// direct is a provider of the benchmark's own. With it a person writes, and the benchmark
	// reads what is there. zone is how it calls the zone.
	direct provider.Provider
	zone   dns.Zone
	close  func()
}

// conditional reports whether the server itself refuses to write over what somebody else has.
// The webhook protocol can't say it, whatever is behind it.
func (t *dnsTarget) conditional() bool {
	return t.direct.Capabilities().Conditional && !slices.Contains(t.flags, "--provider=webhook")
}

// dnsTargets are the kinds of servers.
var dnsTargets = []struct {
	name  string
	Start func(context.Context) (*dnsTarget, error)
}{
	{"BIND", startBINDTarget},
	{"PowerDNS", startPowerDNSTarget},
	{"etcd (CoreDNS)", startEtcdTarget},
	{"a webhook", startWebhookTarget},
}

func providerInput() provider.Input {
	return provider.Input{
		OwnerID: "default", Domains: dns.MatchAll(), Log: slog.New(slog.DiscardHandler),
		Wrap: func(rt http.RoundTripper) http.RoundTripper { return rt },
	}
}

// open opens the target's own provider and finds the zone.
func (t *dnsTarget) open(ctx context.Context, c provider.Config) (*dnsTarget, error) {
	var err error
	if t.direct, err = c.Open(ctx, providerInput()); err != nil {
		t.close()
		return nil, err
	}
	zones, err := t.direct.Zones(ctx)
	if err == nil && len(zones) != 1 {
		err = fmt.Errorf("it has %d zones instead of one", len(zones))
	}
	if err != nil {
		t.close()
		return nil, err
	}
	t.zone = zones[0]
	return t, nil
}

func startBINDTarget(ctx context.Context) (*dnsTarget, error) {
	s, err := startServer(ctx)
	if err != nil {
		return nil, err
	}
	addr := s.bind.Addr
	t := &dnsTarget{flags: s.flags(), close: s.close}
	return t.open(ctx, &rfc2136.Config{
		Hosts: []string{addr.Addr().String()}, Port: int(addr.Port()), Zones: []string{dnsZone}, AXFR: true, BatchChangeSize: 50,
		TSIGKeyName: s.key.Name, TSIGSecret: s.key.Secret, TSIGAlgorithm: s.key.Algorithm, Strategy: "disabled",
	})
}

func startPowerDNSTarget(ctx context.Context) (*dnsTarget, error) {
	s, err := pdnstest.Start(ctx, pdnstest.Config{})
	if err != nil {
		return nil, err
	}
	if err := s.CreateZone(ctx, dnsZone); err != nil {
		s.Stop()
		return nil, err
	}
	t := &dnsTarget{
		flags: []string{"--provider=pdns", "--pdns-server=" + s.API, "--pdns-api-key=" + pdnstest.APIKey},
		close: s.Stop,
	}
	return t.open(ctx, &pdns.Config{Server: s.API, ServerID: "localhost", APIKey: pdnstest.APIKey})
}

func startEtcdTarget(ctx context.Context) (*dnsTarget, error) {
	s, err := etcdtest.Start(ctx)
	if err != nil {
		return nil, err
	}
	// The publisher inherits the variable.
	if err := os.Setenv("ETCD_URLS", s.URL); err != nil {
		s.Stop()
		return nil, err
	}
	t := &dnsTarget{flags: []string{"--provider=coredns", "--domain-filter=" + dnsZone}, close: s.Stop}
	return t.open(ctx, &coredns.Config{Prefix: "/skydns/"})
}

func startWebhookTarget(ctx context.Context) (*dnsTarget, error) {
	zones := inmemory.New(dnsZone)
	t, err := serveWebhook(ctx, zones)
	if err != nil {
		return nil, err
	}
	t.direct, t.zone = zones, dns.Zone{ID: dnsZone, Name: dnsZone}
	return t, nil
}

// serveWebhook serves a provider over the webhook protocol.
func serveWebhook(ctx context.Context, p provider.Provider) (*dnsTarget, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the webhook: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = webhookserver.New(webhookserver.Config{Provider: p, Limits: *webhook.DefaultLimits()}).Run(ctx, l)
	}()
	return &dnsTarget{
		flags: []string{"--provider=webhook", "--webhook-provider-url=http://" + l.Addr().String()},
		close: func() { stop(); <-ended },
	}, nil
}
