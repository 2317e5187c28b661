package rfc2136

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/bindtest"
)

// at replaces the servers of a provider.
func (p *Provider) at(strategy string, addresses ...string) *Provider {
	p.servers = newServers(addresses, strategy)
	return p
}

// impatience is the timeout for servers that don't answer.
const impatience = 500 * time.Millisecond

// dead returns an address at which nobody listens.
func dead(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A server that is unreachable, hangs, or doesn't have the zone does no harm if there is
// another one, in either order (spec/dns.md §17).
func TestFailover(t *testing.T) {
	good := oneZone(t, "www A 192.0.2.1")
	stranger := bind(t, bindtest.Config{Zones: []bindtest.Zone{{Name: "other.test"}}})
	for name, other := range map[string]string{"dead": dead(t), "deaf": listen(t, deaf), "stranger": stranger.Addr.String()} {
		for _, strategy := range strategies {
			for _, addresses := range [][]string{{other, good.Addr.String()}, {good.Addr.String(), other}} {
				p := open(t, settings(nil)).at(strategy, addresses...)
				if name == "deaf" {
					p.dialer.answerTimeout = impatience
				}
				for range 3 {
					expect(t, p, "www 300 A 192.0.2.1")
				}
				if name == "deaf" {
					continue // Whether it has done what it was told nobody knows; see TestAnswerLost.
				}
				mustApply(t, p, created(record("new", "A", "192.0.2.2")))
				mustApply(t, p, deleted(record("new", "A", "192.0.2.2")))
			}
		}
	}
}

func TestNobodyThere(t *testing.T) {
	first, second := dead(t), dead(t)
	p := open(t, settings(nil)).at(disabled, first, second)
	_, err := p.Records(t.Context(), testZone)
	applyErr := apply(t, p, created(record("www", "A", "192.0.2.1")))
	for _, err := range []error{err, applyErr} {
		if err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) {
			t.Errorf("got %v", err)
		}
		if errors.Is(err, provider.ErrRejected) || errors.Is(err, provider.ErrCredentials) {
			t.Errorf("the error says more than is known: %v", err)
		}
	}
}

// An error names the server once, and is the same each time, so that it is reported once.
func TestErrorsNameTheServerOnce(t *testing.T) {
	servers := map[string]struct{ address, want string }{
		"unreachable": {dead(t), "connect: connection refused"},
		"deaf":        {listen(t, deaf), "receive the answer: i/o timeout"},
		"closing":     {listen(t, func(net.Conn) {}), "receive the answer: "}, // EOF, or connection reset
	}
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			p := open(t, settings(nil)).at(disabled, server.address)
			p.dialer.answerTimeout = impatience
			_, listErr := p.Records(t.Context(), testZone)
			_, probeErr := open(t, settings(nil, func(c *Config) { c.AXFR = false })).at(disabled, dead(t)).Probe(t.Context(), testZone)
			for operation, err := range map[string]error{"list": listErr, "update": apply(t, p, created(record("www", "A", "192.0.2.1"))), "probe": probeErr} {
				switch {
				case err == nil:
					t.Errorf("%s: no error", operation)
				case strings.Count(err.Error(), "127.0.0.1") != 1:
					t.Errorf("%s: the address isn't named once: %v", operation, err)
				case operation != "probe" && !strings.Contains(err.Error(), ": "+server.want):
					t.Errorf("%s: %v, want %s", operation, err, server.want)
				}
			}
		})
	}
}

// The host name of a server that can't be resolved is in its address already.
func TestUnresolvedServer(t *testing.T) {
	lookup := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "ns.example.test", Server: "192.0.2.53:53", IsNotFound: true}}
	if got, want := cause(t.Context(), lookup).Error(), "resolve the host name at 192.0.2.53:53: no such host"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// If the answer to an update is lost, its outcome isn't known. The next listing transfers the
// zone, whatever its serial number is, and avoids the server.
func TestAnswerLost(t *testing.T) {
	s := oneZone(t, "")
	lossy, lost := proxy(t, s.Addr.String())
	p := open(t, settings(nil)).at(disabled, lossy, s.Addr.String())
	expect(t, p)
	p.dialer.answerTimeout = impatience
	err := apply(t, p, created(record("www", "A", "192.0.2.1")))
	if err == nil || provider.NothingMade(err) {
		t.Fatalf("got %v", err)
	}
	<-lost
	p.dialer.answerTimeout = answerTimeout
	expect(t, p, "www 300 A 192.0.2.1")
	mustApply(t, p, created(record("api", "A", "192.0.2.1")))
	expect(t, p, "api 300 A 192.0.2.1", "www 300 A 192.0.2.1")
}

// A listing from a server that hangs fails in time.
func TestPaused(t *testing.T) {
	s := oneZone(t, "")
	p := open(t, settings(nil)).at(disabled, s.Addr.String())
	if err := s.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.dialer.answerTimeout = impatience
	if _, err := p.Records(t.Context(), testZone); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	p.dialer.answerTimeout = answerTimeout
	expect(t, p)
}

// A call that waits ends with its context.
func TestContextEnds(t *testing.T) {
	asked := make(chan struct{}, 2)
	address := listen(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1))
		asked <- struct{}{}
		deaf(conn)
	})
	p := open(t, settings(nil)).at(disabled, address)
	p.dialer.answerTimeout = time.Hour
	for name, call := range map[string]func(context.Context) error{
		"Records": func(ctx context.Context) error { _, err := p.Records(ctx, testZone); return err },
		"Apply": func(ctx context.Context) error {
			return p.Apply(ctx, testZone, []dns.Change{created(record("www", "A", "192.0.2.1"))})
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- call(ctx) }()
		<-asked
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p.servers.rank(address, time.Now()) != 0 {
		t.Error("the server is held to have failed")
	}
}

func TestOrder(t *testing.T) {
	now := time.Now()
	var position rotation
	var got []string
	s := newServers([]string{"a", "b", "c"}, roundRobin)
	for range 4 {
		got = append(got, strings.Join(s.order(&position, now), ""))
	}
	s.report("a", errors.New("failed"), now)
	got = append(got, strings.Join(s.order(&position, now), ""), strings.Join(s.order(&position, now.Add(avoidance)), ""))
	s.report("a", nil, now)
	got = append(got, strings.Join(s.order(&position, now), ""))
	if want := []string{"abc", "bca", "cab", "abc", "bca", "cab", "abc"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := strings.Join(newServers([]string{"a", "b"}, disabled).order(&position, now), ""); got != "ab" {
		t.Errorf("disabled: %s", got)
	}
	seen := map[string]bool{}
	for range 200 {
		seen[strings.Join(newServers([]string{"a", "b"}, random).order(&position, now), "")] = true
	}
	if len(seen) != 2 {
		t.Errorf("random: %v", seen)
	}
}

func rr(t *testing.T, s string) mdns.RR {
	t.Helper()
	r, err := mdns.NewRR(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A listing is either complete or an error.
func TestBrokenTransfers(t *testing.T) {
	soa, later := rr(t, zoneName+". 60 SOA a. b. 7 1 1 1 1"), rr(t, zoneName+". 60 SOA a. b. 8 1 1 1 1")
	www, otherZone := rr(t, "www.example.test. 60 A 192.0.2.1"), rr(t, "example.org. 60 SOA a. b. 7 1 1 1 1")
	has := func(list ...mdns.RR) func(*mdns.Msg) { return func(m *mdns.Msg) { m.Answer = list } }
	fails := func(code int) func(*mdns.Msg) { return func(m *mdns.Msg) { m.Rcode = code } }
	for _, test := range []struct {
		name    string
		answers []func(*mdns.Msg)
		good    bool
		advice  string
	}{
		{name: "whole", answers: []func(*mdns.Msg){has(soa, www, soa)}, good: true},
		{name: "in several messages", answers: []func(*mdns.Msg){has(soa), has(www), has(soa)}, good: true},
		{name: "nothing"},
		{name: "no end", answers: []func(*mdns.Msg){has(soa, www)}},
		{name: "an error in the midst", answers: []func(*mdns.Msg){has(soa, www), fails(mdns.RcodeServerFailure)}, advice: "(SERVFAIL): find the cause in the log of the server"},
		{name: "an error in the midst, with records", answers: []func(*mdns.Msg){has(soa, www), func(m *mdns.Msg) {
			m.Answer, m.Rcode = []mdns.RR{soa}, mdns.RcodeServerFailure
		}}},
		{name: "refused", answers: []func(*mdns.Msg){fails(mdns.RcodeRefused)}, advice: "(REFUSED): allow transfers"},
		{name: "no records", answers: []func(*mdns.Msg){has()}},
		{name: "no records in the midst", answers: []func(*mdns.Msg){has(soa, www), has(), has(soa)}},
		{name: "no SOA at the begin", answers: []func(*mdns.Msg){has(www, soa)}},
		{name: "another zone", answers: []func(*mdns.Msg){has(otherZone, otherZone)}},
		{name: "the SOA of another zone at the end", answers: []func(*mdns.Msg){has(soa, www, otherZone)}},
		{name: "another serial at the end", answers: []func(*mdns.Msg){has(soa, www, later)}},
		{name: "something behind the end", answers: []func(*mdns.Msg){has(soa, soa, www)}},
		{name: "another question", answers: []func(*mdns.Msg){func(m *mdns.Msg) { m.Id++ }}},
		{name: "a question", answers: []func(*mdns.Msg){func(m *mdns.Msg) { m.Response = false }}},
	} {
		t.Run(test.name, func(t *testing.T) {
			insecure := func(c *Config) { c.Insecure = true }
			p := open(t, settings(nil, insecure)).at(disabled, listen(t, scripted(test.answers...)))
			list, err := p.Records(t.Context(), testZone)
			if test.good {
				if got := lines(list); err != nil || !slices.Equal(got, []string{"www 60 A 192.0.2.1"}) {
					t.Errorf("got %v, %v", got, err)
				}
			} else if err == nil || list != nil || !strings.Contains(err.Error(), test.advice) {
				t.Errorf("got %v, and the error %v", lines(list), err)
			}
		})
	}
}

// A zone whose serial number is 0 isn't taken for unchanged because its server doesn't tell the number.
func TestSerialOfZero(t *testing.T) {
	address := listen(t, scripted(func(m *mdns.Msg) { m.Rcode = mdns.RcodeServerFailure }))
	p := open(t, settings(nil, func(c *Config) { c.Insecure = true })).at(disabled, address)
	p.zones[zoneName].last = &listing{server: address, at: time.Now(), sets: []*dns.RecordSet{record("www", "A", "192.0.2.1")}}
	if list, err := p.Records(t.Context(), testZone); err == nil {
		t.Errorf("the listing is believed: %v", lines(list))
	}
}

// The errors for the answers to an update. None of these servers signs its answers, which only
// matters if it says that it has made the update.
func TestCodes(t *testing.T) {
	for code, want := range map[int]error{
		mdns.RcodeRefused: provider.ErrCredentials, mdns.RcodeNotAuth: provider.ErrCredentials,
		mdns.RcodeFormatError: provider.ErrRejected, mdns.RcodeNotZone: provider.ErrRejected, mdns.RcodeNotImplemented: provider.ErrRejected,
		mdns.RcodeYXDomain: provider.ErrStale, mdns.RcodeYXRrset: provider.ErrStale, mdns.RcodeNXRrset: provider.ErrStale, mdns.RcodeNameError: provider.ErrStale,
		mdns.RcodeServerFailure: nil, mdns.RcodeSuccess: nil, 15: nil,
	} {
		t.Run(mdns.RcodeToString[code]+strconv.Itoa(code), func(t *testing.T) {
			address := listen(t, scripted(func(m *mdns.Msg) { m.Rcode = code }))
			p := open(t, settings(nil)).at(disabled, address)
			err := apply(t, p, created(record("www", "A", "192.0.2.1")))
			if err == nil || want != nil && !errors.Is(err, want) || want == nil && provider.NothingMade(err) {
				t.Errorf("got %v, want %v", err, want)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	s := bind(t, bindtest.Config{Zones: []bindtest.Zone{{Name: zoneName}}, TLS: true})
	other := bind(t, bindtest.Config{TLS: true})
	overTLS := func(c *Config) { c.UseTLS, c.Port = true, int(s.TLSAddr.Port()) }
	in := input()
	in.TLS.CA = s.CertFile
	p := openWith(t, settings(s, overTLS), in)
	mustApply(t, p, created(record("www", "A", "192.0.2.1")))
	expect(t, p, "www 300 A 192.0.2.1")
	expect(t, open(t, settings(s, overTLS, func(c *Config) { c.SkipTLSVerify = true })), "www 300 A 192.0.2.1")

	wrong := input()
	wrong.TLS.CA = other.CertFile
	named := func(c *Config) { c.Hosts = []string{"localhost"} }
	for name, p := range map[string]*Provider{
		"wrong authority": openWith(t, settings(s, overTLS), wrong),
		"the system's":    open(t, settings(s, overTLS)),
		"wrong name":      openWith(t, settings(s, overTLS, named), in),
		"no TLS there":    openWith(t, settings(s, overTLS, func(c *Config) { c.Port = int(s.Addr.Port()) }), in),
	} {
		p.dialer.dialTimeout = time.Second
		if _, err := p.Records(withTimeout(t, 10*time.Second), testZone); err == nil {
			t.Errorf("%s: listed", name)
		}
		if err := apply(t, p, created(record("bad", "A", "192.0.2.1"))); err == nil {
			t.Errorf("%s: updated", name)
		}
	}
	expect(t, p, "www 300 A 192.0.2.1")
}

// With Kerberos, zones are listed without a signature. If the realm can't be reached, no
// update is sent. TestGSS has the rest.
func TestKerberos(t *testing.T) {
	s, err := bindtest.Start(t.Context(), bindtest.Config{Zones: []bindtest.Zone{{Name: zoneName, Records: "www A 192.0.2.1"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	nobody := filepath.Join(t.TempDir(), "krb5.conf")
	config := "[libdefaults]\ndns_lookup_kdc = false\n[realms]\nEXAMPLE.TEST = {\n kdc = " + netip.MustParseAddrPort(dead(t)).String() + "\n}\n"
	if err := os.WriteFile(nobody, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", nobody)
	p := open(t, settings(s, func(c *Config) {
		c.GSSTSIG, c.KerberosRealm, c.KerberosUsername, c.KerberosPassword = true, "example.test", "alice", "open-sesame"
	}))
	expect(t, p, "www 300 A 192.0.2.1")
	err = apply(t, p, created(record("new", "A", "192.0.2.1")))
	if err == nil || !strings.Contains(err.Error(), "alice@EXAMPLE.TEST") || strings.Contains(err.Error(), "open-sesame") {
		t.Errorf("got %v", err)
	}
	expect(t, p, "www 300 A 192.0.2.1")
	if strings.Contains(s.Log(), "updating zone") {
		t.Error("an update was sent")
	}
}

// In a dry run, the connection refuses to send an update.
func TestDryRunBelow(t *testing.T) {
	s := oneZone(t, "")
	in := input()
	in.DryRun = true
	p := openWith(t, settings(s), in)
	session, err := p.dialer.update(t.Context(), s.Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer session.close()
	m := newMessage(p.zones[zoneName], p.groups(p.zones[zoneName], []dns.Change{created(record("www", "A", "192.0.2.1"))}))
	if err := session.update(t.Context(), m); !errors.Is(err, provider.ErrDryRun) {
		t.Errorf("got %v", err)
	}
	expect(t, p)
}
