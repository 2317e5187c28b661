package rfc2136

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/certfiles"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestFlags(t *testing.T) {
	c := Plugin().New().(*Config)
	if d := cmp.Diff(&Config{BatchChangeSize: 50, Strategy: "disabled"}, c, cmpopts.IgnoreUnexported(Config{})); d != "" {
		t.Errorf("defaults (-want +got)\n%s", d)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SetOutput(&bytes.Buffer{})
	c.Flags(flags)
	err := flags.Parse(strings.Fields(`--rfc2136-host=a --rfc2136-host=b,c --rfc2136-port=5353 --rfc2136-zone=x.test --rfc2136-zone=y.test
		--rfc2136-insecure --rfc2136-tsig-keyname=k --rfc2136-tsig-secret=s --rfc2136-tsig-secret-alg=hmac-sha256 --rfc2136-axfr
		--rfc2136-min-ttl=1m --rfc2136-gss-tsig --rfc2136-kerberos-username=u --rfc2136-kerberos-password=p --rfc2136-kerberos-realm=r
		--rfc2136-batch-change-size=7 --rfc2136-use-tls --rfc2136-skip-tls-verify --rfc2136-load-balancing-strategy=round-robin`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Hosts: []string{"a", "b,c"}, Port: 5353, Zones: []string{"x.test", "y.test"}, Insecure: true,
		TSIGKeyName: "k", TSIGSecret: "s", TSIGAlgorithm: "hmac-sha256", AXFR: true, MinTTL: time.Minute,
		GSSTSIG: true, KerberosUsername: "u", KerberosPassword: "p", KerberosRealm: "r",
		BatchChangeSize: 7, UseTLS: true, SkipTLSVerify: true, Strategy: "round-robin",
	}
	if d := cmp.Diff(want, c, cmpopts.IgnoreUnexported(Config{})); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	var secrets []string
	flags.VisitAll(func(f *pflag.Flag) {
		if provider.IsSecret(f) {
			secrets = append(secrets, f.Name)
		}
	})
	if !slices.Equal(secrets, []string{"rfc2136-kerberos-password", "rfc2136-tsig-secret"}) {
		t.Errorf("secrets: %v", secrets)
	}
}

// spec/dns.md §5.4 and §8.6.
func TestSettings(t *testing.T) {
	gss := func(c *Config) {
		c.GSSTSIG, c.KerberosRealm, c.KerberosUsername, c.KerberosPassword = true, "r", "u", "p"
		c.TSIGKeyName, c.TSIGSecret, c.TSIGAlgorithm = "", "", ""
	}
	for _, test := range []struct {
		name string
		edit func(*Config)
		want string
	}{
		{"good", func(*Config) {}, ""},
		{"no host", func(c *Config) { c.Hosts = []string{""} }, "--rfc2136-host"},
		{"port", func(c *Config) { c.Port = 65536 }, "--rfc2136-port"},
		{"zone", func(c *Config) { c.Zones = []string{"a..b"} }, "--rfc2136-zone"},
		{"negative TTL", func(c *Config) { c.MinTTL = -1 }, "--rfc2136-min-ttl"},
		{"great TTL", func(c *Config) { c.MinTTL = (maxTTL + 1) * time.Second }, "--rfc2136-min-ttl"},
		{"batch size", func(c *Config) { c.BatchChangeSize = 0 }, "--rfc2136-batch-change-size"},
		{"strategy", func(c *Config) { c.Strategy = "" }, "--rfc2136-load-balancing-strategy"},
		{"no algorithm", func(c *Config) { c.TSIGAlgorithm = "" }, "--rfc2136-tsig-secret-alg"},
		{"MD5", func(c *Config) { c.TSIGAlgorithm = "hmac-md5" }, "--rfc2136-tsig-secret-alg"},
		{"capital letters and a dot", func(c *Config) { c.TSIGAlgorithm = "HMAC-SHA512." }, ""},
		{"no key", func(c *Config) { c.TSIGKeyName = "" }, "--rfc2136-tsig-keyname"},
		{"no secret", func(c *Config) { c.TSIGSecret = "" }, "--rfc2136-tsig-secret"},
		{"secret", func(c *Config) { c.TSIGSecret = "not base64" }, "--rfc2136-tsig-secret"},
		{"insecure", func(c *Config) { c.Insecure, c.TSIGAlgorithm, c.TSIGKeyName, c.TSIGSecret = true, "", "", "" }, ""},
		{"Kerberos", gss, ""},
		{"Kerberos and insecure", func(c *Config) { gss(c); c.Insecure = true }, "exclude"},
		{"Kerberos and TLS", func(c *Config) { gss(c); c.UseTLS = true }, "exclude"},
		{"Kerberos without a realm", func(c *Config) { gss(c); c.KerberosRealm = "" }, "--rfc2136-kerberos-realm"},
		{"Kerberos without a user", func(c *Config) { gss(c); c.KerberosUsername = "" }, "-username"},
		{"Kerberos without a password", func(c *Config) { gss(c); c.KerberosPassword = "" }, "-password"},
	} {
		_, err := settings(nil, test.edit).Open(t.Context(), input())
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "not base64") {
			t.Errorf("%s: the error has the secret: %v", test.name, err)
		}
	}
}

func TestTLSFiles(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage.pem")
	if err := os.WriteFile(garbage, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, files := range map[string]certfiles.ClientFiles{
		"no certificate":    {CA: garbage},
		"--tls-ca":          {CA: garbage + "x"},
		"--tls-client-cert": {Cert: garbage, Key: garbage},
	} {
		in := input()
		in.TLS = files
		_, err := settings(nil, func(c *Config) { c.UseTLS = true }).Open(t.Context(), in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, test := range []struct {
		edit func(*Config)
		want string
	}{
		{func(c *Config) { c.Hosts = []string{"ns1.example.net", " ", "2001:db8::1", "[2001:db8::2]"} }, "ns1.example.net:53 [2001:db8::1]:53 [2001:db8::2]:53"},
		{func(c *Config) { c.UseTLS = true }, "127.0.0.1:853"},
		{func(c *Config) { c.Port = 5300 }, "127.0.0.1:5300"},
	} {
		if got := strings.Join(settings(nil, test.edit).addresses(), " "); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestZoneFilters(t *testing.T) {
	in := input()
	in.ZoneIDs, in.ZoneNames = []string{"b.test"}, []string{"test"}
	p := openWith(t, settings(nil, func(c *Config) { c.Zones = []string{"a.test", "B.test.", "c.b.test"} }), in)
	zones, err := p.Zones(t.Context())
	if want := []dns.Zone{{ID: "b.test", Name: "b.test"}, {ID: "c.b.test", Name: "c.b.test"}}; err != nil || !slices.Equal(zones, want) {
		t.Errorf("got %v, %v", zones, err)
	}
	if c := p.Capabilities(); c.BatchSize != 50 || c.BatchInterval != 0 || !c.Conditional {
		t.Errorf("capabilities: %+v", c)
	}
}

// Where both flags are given, the deprecated one counts, as in ExternalDNS (W9).
func TestDeprecatedAXFR(t *testing.T) {
	for args, want := range map[string]bool{
		"": false, "--rfc2136-axfr": true, "--rfc2136-tsig-axfr": true, "--rfc2136-tsig-axfr --rfc2136-axfr=false": true,
		"--rfc2136-axfr=false --rfc2136-tsig-axfr": true, "--rfc2136-tsig-axfr=false --rfc2136-axfr": false,
	} {
		c := providertest.Configure(t, Plugin().New(), append(strings.Fields(args), "--rfc2136-host=127.0.0.1", "--rfc2136-insecure")...)
		if got := providertest.Open[*Provider](t, c, input()).axfr; got != want {
			t.Errorf("%q: zones are transferred: %v, want %v", args, got, want)
		}
	}
}

// Without transfers there is a warning, unless the policy is create-only.
func TestWarning(t *testing.T) {
	for _, test := range []struct{ axfr, createOnly, want bool }{{false, false, true}, {true, false, false}, {false, true, false}} {
		var out bytes.Buffer
		in := provider.Input{Log: slog.New(slog.NewTextHandler(&out, nil)), CreateOnly: test.createOnly}
		openWith(t, settings(nil, func(c *Config) { c.AXFR = test.axfr }), in)
		if got := strings.Contains(out.String(), "--rfc2136-axfr"); got != test.want {
			t.Errorf("%+v: %s", test, &out)
		}
	}
}
