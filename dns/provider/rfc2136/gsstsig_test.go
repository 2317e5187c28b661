package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bodgit/tsig"
	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/bindtest"
)

const (
	realm = "EXAMPLE.TEST"
	// service is the principal of the server at localhost.
	service = "DNS/localhost"
	// bigZone is more than a message of 65,535 octets can hold.
	bigZone  = "big.test"
	bigCount = 3000
)

var (
	alice = bindtest.User{Name: "alice", Password: "open-sesame"}
	// mallory has an account without permissions. The KDC gives anybody what is encrypted with
	// this password.
	mallory = bindtest.User{Name: "mallory", Password: "let mallory's in", NoPreauth: true}
)

// startKDC starts a KDC that ends with the test, and makes it the one of this process.
func startKDC(t *testing.T) *bindtest.KDC {
	t.Helper()
	k, err := bindtest.StartKDC(t.Context(), bindtest.KDCConfig{
		Realm: realm, Users: []bindtest.User{alice, mallory}, Services: []string{service},
	})
	if errors.Is(err, bindtest.ErrNoKDC) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("KRB5_CONFIG", k.ConfFile)
	return k
}

// kerberized starts a server of which only alice may transfer and update zones.
func kerberized(t *testing.T, k *bindtest.KDC) *bindtest.Server {
	t.Helper()
	var big strings.Builder
	for i := range bigCount {
		fmt.Fprintf(&big, "host%d TXT \"%s\"\n", i, strings.Repeat("x", 50))
	}
	key := alice.Name + "@" + realm
	return bind(t, bindtest.Config{KDC: k, Zones: []bindtest.Zone{
		{Name: zoneName, Key: key, Policy: "grant " + key + " zonesub any;", Records: "www A 192.0.2.1"},
		{Name: bigZone, Key: key, Records: big.String()},
	}})
}

// as are the settings for a user, by the flags.
func as(t *testing.T, s *bindtest.Server, host string, user bindtest.User, edits ...func(*Config)) *Provider {
	t.Helper()
	return open(t, settings(s, append(edits, func(c *Config) {
		c.TSIGKeyName, c.TSIGSecret, c.TSIGAlgorithm = "", "", ""
		c.Hosts, c.Zones = []string{host}, []string{zoneName, bigZone}
		// A realm is given in lower case, too.
		c.GSSTSIG, c.KerberosRealm, c.KerberosUsername, c.KerberosPassword = true, strings.ToLower(realm), user.Name, user.Password
	})...))
}

func TestGSS(t *testing.T) {
	k := startKDC(t)
	s := kerberized(t, k)
	p := as(t, s, "localhost", alice)
	t.Run("changes", func(t *testing.T) { gssChanges(t, s, p) })
	t.Run("a key for many messages", func(t *testing.T) {
		gssManyMessages(t, k, as(t, s, "localhost", alice, func(c *Config) { c.BatchChangeSize = 1 }))
	})
	t.Run("a transfer of many messages", func(t *testing.T) { gssGreatTransfer(t, p) })
	t.Run("the server has forgotten the key", func(t *testing.T) { gssForgotten(t, s, p) })
	t.Run("another user", func(t *testing.T) {
		p := as(t, s, "localhost", mallory)
		checkLetIn(t, p, mallory.Password, provider.ErrCredentials, "REFUSED")
	})
	for _, test := range []struct {
		name, host string
		user       bindtest.User
		want       error
		says       string
	}{
		{"wrong password", "localhost", bindtest.User{Name: "alice", Password: "close-sesame"}, provider.ErrCredentials, "--rfc2136-kerberos-username, --rfc2136-kerberos-password"},
		{"wrong password without preauthentication", "localhost", bindtest.User{Name: "mallory", Password: "close-sesame"}, provider.ErrCredentials, "--rfc2136-kerberos-username, --rfc2136-kerberos-password"},
		{"unknown user", "localhost", bindtest.User{Name: "nobody", Password: "close-sesame"}, provider.ErrCredentials, "nobody@" + realm},
		{"unknown service", "127.0.0.1", alice, nil, "as --rfc2136-host"},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkLetIn(t, as(t, s, test.host, test.user), test.user.Password, test.want, test.says)
		})
	}
	expect(t, p, "www 300 A 192.0.2.1")
}

// checkLetIn checks that access is refused, and the error.
func checkLetIn(t *testing.T, p *Provider, password string, want error, says string) {
	t.Helper()
	_, listErr := p.Records(t.Context(), testZone)
	applyErr := apply(t, p, created(record("bad", "A", "192.0.2.1")))
	for _, err := range []error{listErr, applyErr} {
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		} else if strings.Contains(err.Error(), password) {
			t.Errorf("the error has the password: %v", err)
		}
	}
	if want == nil && errors.Is(applyErr, provider.ErrCredentials) {
		t.Errorf("the error blames the credentials: %v", applyErr)
	}
}

func gssChanges(t *testing.T, s *bindtest.Server, p *Provider) {
	expect(t, p, "www 300 A 192.0.2.1")
	api, alias := record("api", "A", "192.0.2.2"), record("alias", "CNAME", "www.example.test")
	mustApply(t, p, created(api), created(alias))
	expect(t, p, "alias 300 CNAME www.example.test", "api 300 A 192.0.2.2", "www 300 A 192.0.2.1")
	better := record("api", "A", "192.0.2.3")
	mustApply(t, p, replaced(api, better))
	expect(t, p, "alias 300 CNAME www.example.test", "api 300 A 192.0.2.3", "www 300 A 192.0.2.1")
	var applyError *provider.ApplyError
	if err := apply(t, p, deleted(api)); !errors.As(err, &applyError) || !errors.Is(applyError.Errs[0], provider.ErrStale) {
		t.Errorf("deletion of what isn't there: %v", err)
	}
	mustApply(t, p, deleted(better), deleted(alias))
	expect(t, p, "www 300 A 192.0.2.1")
	for _, want := range []string{`/key alice\@` + realm + `: updating zone`, `/key alice\@` + realm + ` (example.test): transfer of`} {
		if !strings.Contains(s.Log(), want) {
			t.Errorf("the server never said %q", want)
		}
	}
}

func gssManyMessages(t *testing.T, k *bindtest.KDC, p *Provider) {
	tickets := func() int { return strings.Count(k.Log(), "for "+service+"@"+realm) }
	var create, remove []dns.Change
	for i := range 20 {
		r := record(fmt.Sprintf("many%d", i), "A", "192.0.2.1")
		create, remove = append(create, created(r)), append(remove, deleted(r))
	}
	before := tickets()
	mustApply(t, p, create...)
	if got := tickets() - before; got != 1 {
		t.Errorf("%d tickets for one call", got)
	}
	if got := len(contents(t, p)); got != len(create)+1 {
		t.Errorf("the zone has %d record sets", got)
	}
	mustApply(t, p, remove...)
}

func gssGreatTransfer(t *testing.T, p *Provider) {
	list, err := p.Records(t.Context(), dns.Zone{ID: bigZone, Name: bigZone})
	if err != nil || len(list) != bigCount+1 {
		t.Fatalf("got %d record sets, %v", len(list), err)
	}
}

// The server doesn't know a key that has expired or was lost in a restart. The next call
// negotiates another one.
func gssForgotten(t *testing.T, s *bindtest.Server, p *Provider) {
	session, err := p.dialer.update(t.Context(), fmt.Sprintf("localhost:%d", s.Addr.Port()))
	if err != nil {
		t.Fatal(err)
	}
	defer session.close()
	deleteKey(t, session)
	r := record("late", "A", "192.0.2.1")
	m := newMessage(p.zones[zoneName], p.groups(p.zones[zoneName], []dns.Change{created(r)}))
	err = session.update(t.Context(), m)
	if !errors.Is(err, provider.ErrCredentials) || !strings.Contains(err.Error(), "BADKEY") || strings.Contains(err.Error(), "--rfc2136-tsig") {
		t.Errorf("got %v", err)
	}
	mustApply(t, p, created(r))
	mustApply(t, p, deleted(r))
}

// deleteKey has the server forget the key of a session (RFC 2930 4.2).
func deleteKey(t *testing.T, s *session) {
	t.Helper()
	m := new(mdns.Msg)
	m.SetQuestion(s.signer.name, mdns.TypeTKEY)
	m.Question[0].Qclass = mdns.ClassANY
	m.Extra = []mdns.RR{&mdns.TKEY{
		Hdr:       mdns.RR_Header{Name: s.signer.name, Rrtype: mdns.TypeTKEY, Class: mdns.ClassANY},
		Algorithm: tsig.GSS, Mode: 5,
	}}
	reply, err := s.exchange(t.Context(), m)
	if err != nil || reply.Rcode != mdns.RcodeSuccess {
		t.Fatalf("delete the key: %v, %v", reply, err)
	}
}

// Each failed negotiation also ends the login. TestMain finds the goroutine that would renew
// it.
func TestGSSNotAccepted(t *testing.T) {
	other := startKDC(t)
	stale := kerberized(t, other)
	without := oneZone(t, "")
	startKDC(t)
	t.Run("the keytab has other keys", func(t *testing.T) {
		checkLetIn(t, as(t, stale, "localhost", alice), alice.Password, provider.ErrCredentials, "keytab may be out of date")
	})
	t.Run("no keytab", func(t *testing.T) {
		checkLetIn(t, as(t, without, "localhost", alice), alice.Password, nil, "tkey-gssapi-keytab")
	})
}

// Zones that addresses may transfer need no signature, and so no login.
func TestGSSListsUnsigned(t *testing.T) {
	k := startKDC(t)
	s, err := bindtest.Start(t.Context(), bindtest.Config{KDC: k, Zones: []bindtest.Zone{{Name: zoneName, Records: "www A 192.0.2.1"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	p := as(t, s, "localhost", bindtest.User{Name: "nobody", Password: "close-sesame"})
	expect(t, p, "www 300 A 192.0.2.1")
	if strings.Contains(k.Log(), "nobody@") {
		t.Error("somebody logged in")
	}
}

// A call doesn't wait for a KDC after the end of its context.
func TestGSSContextEnds(t *testing.T) {
	s := oneZone(t, "")
	asked := make(chan struct{}, 1)
	address := listen(t, func(conn net.Conn) {
		asked <- struct{}{}
		deaf(conn)
	})
	conf := filepath.Join(t.TempDir(), "krb5.conf")
	text := "[libdefaults]\n dns_lookup_kdc = false\n udp_preference_limit = 1\n[realms]\n " + realm + " = {\n  kdc = " + address + "\n }\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", conf)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	p := as(t, s, "localhost", alice)
	go func() { done <- p.Apply(ctx, testZone, []dns.Change{created(record("www", "A", "192.0.2.1"))}) }()
	<-asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
