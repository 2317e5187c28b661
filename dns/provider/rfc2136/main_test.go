package rfc2136

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bodgit/tsig"
	mdns "github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	keyName   = "signpost-key"
	keySecret = "c2lnbnBvc3Qtc2lnbnBvc3Qtc2lnbnBvc3Qtc2lnbnBvc3Q="
	zoneName  = "example.test"
)

var (
	testKey  = bindtest.Key{Name: keyName, Algorithm: "hmac-sha256", Secret: keySecret}
	testZone = dns.Zone{ID: zoneName, Name: zoneName}
)

// bind starts a server that ends with the test. Zones without a key get the usual one.
func bind(t *testing.T, c bindtest.Config) *bindtest.Server {
	t.Helper()
	c.Keys = append(c.Keys, testKey)
	for i := range c.Zones {
		if c.Zones[i].Key == "" {
			c.Zones[i].Key = keyName
		}
	}
	s, err := bindtest.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// oneZone starts a server with the usual zone.
func oneZone(t *testing.T, records string) *bindtest.Server {
	t.Helper()
	return bind(t, bindtest.Config{Zones: []bindtest.Zone{{Name: zoneName, Records: records}}})
}

// settings returns the settings for a server, changed by edits.
func settings(s *bindtest.Server, edits ...func(*Config)) *Config {
	c := Plugin().New().(*Config)
	c.Hosts, c.Zones, c.AXFR = []string{"127.0.0.1"}, []string{zoneName}, true
	c.TSIGKeyName, c.TSIGSecret, c.TSIGAlgorithm = keyName, keySecret, "hmac-sha256"
	if s != nil {
		at(s.Addr)(c)
	}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

// at is an edit of the settings for another server.
func at(server netip.AddrPort) func(*Config) {
	return func(c *Config) { c.Port = int(server.Port()) }
}

func input() provider.Input {
	return provider.Input{Log: slog.New(slog.DiscardHandler)}
}

func open(t *testing.T, c *Config) *Provider {
	t.Helper()
	return openWith(t, c, input())
}

func openWith(t *testing.T, c *Config, in provider.Input) *Provider {
	t.Helper()
	return providertest.Open[*Provider](t, c, in)
}

func record(name, recordType string, targets ...string) *dns.RecordSet {
	if name != "" {
		name += "."
	}
	return &dns.RecordSet{Name: name + zoneName, Type: recordType, Targets: targets, TTL: 300}
}

func apply(t *testing.T, p *Provider, changes ...dns.Change) error {
	t.Helper()
	return p.Apply(t.Context(), testZone, changes)
}

func mustApply(t *testing.T, p *Provider, changes ...dns.Change) {
	t.Helper()
	if err := apply(t, p, changes...); err != nil {
		t.Fatal(err)
	}
}

// contents lists the zone as lines, without the name servers that the servers of the tests put there.
func contents(t *testing.T, p *Provider) []string {
	t.Helper()
	list, err := p.Records(t.Context(), testZone)
	if err != nil {
		t.Fatal(err)
	}
	return lines(list)
}

func lines(list []*dns.RecordSet) []string {
	var all []string
	for _, r := range list {
		name := strings.TrimSuffix(strings.TrimSuffix(r.Name, zoneName), ".")
		if line := fmt.Sprintf("%s %d %s %s", name, r.TTL, r.Type, strings.Join(r.Targets, " | ")); line != " 300 NS ns.invalid" && line != " 3600 NS ns1.elsewhere.test" {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}

func expect(t *testing.T, p *Provider, want ...string) {
	t.Helper()
	if got := contents(t, p); !slices.Equal(got, want) {
		t.Fatalf("the zone has\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// somebodyElse sends an update without the provider.
func somebodyElse(t *testing.T, s *bindtest.Server, insert, remove []string) {
	t.Helper()
	update(t, s.Addr, insert, remove)
}

// update sends an update to a server without the provider.
func update(t *testing.T, server netip.AddrPort, insert, remove []string) {
	t.Helper()
	m := new(mdns.Msg)
	m.SetUpdate(zoneName + ".")
	m.Remove(parse(t, remove))
	m.Insert(parse(t, insert))
	m.SetTsig(keyName+".", mdns.HmacSHA256, fudge, time.Now().Unix())
	client := &mdns.Client{Net: "tcp", TsigProvider: tsig.HMAC{keyName + ".": keySecret}}
	reply, _, err := client.ExchangeContext(t.Context(), m, server.String())
	if err != nil || reply.Rcode != mdns.RcodeSuccess {
		t.Fatalf("somebody else's update: %v, %v", reply, err)
	}
}

func parse(t *testing.T, records []string) []mdns.RR {
	t.Helper()
	var list []mdns.RR
	for _, r := range records {
		rr, err := mdns.NewRR("$ORIGIN " + zoneName + ".\n" + r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rr)
	}
	return list
}

// transfers returns how many transfers of the zone a server has begun.
func transfers(s *bindtest.Server) int { return strings.Count(s.Log(), "AXFR started") }

func withTimeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
