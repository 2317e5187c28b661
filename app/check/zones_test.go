package check

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/testkit/bindtest"
	"github.com/signpostd/signpost/testkit/pdnstest"
)

// checkZones returns the results about the zones of a publisher that reads no objects.
func checkZones(t *testing.T, limit time.Duration, args ...string) (lines []string, code int) {
	t.Helper()
	config := dnsConfig(t, append(args, "--source=fake", "--policy=sync")...)
	return linesOf(t, config, limit)
}

func linesOf(t *testing.T, config settings.Config, limit time.Duration) (lines []string, code int) {
	t.Helper()
	s := Input{Config: config, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	report := Run(context.Background(), Checks(s), limit)
	return group(report, "zones"), report.ExitCode()
}

const goodSecret, otherSecret = "c2VjcmV0LW9mLXRoZS10ZXN0", "b3RoZXItc2VjcmV0"

// startBIND starts a server whose zone example.org has records of two owners and without an owner.
func startBIND(t *testing.T) *bindtest.Server {
	t.Helper()
	return bindtest.Serve(t, bindtest.Config{
		Keys: []bindtest.Key{{Name: "signpost", Algorithm: "hmac-sha256", Secret: goodSecret}},
		Zones: []bindtest.Zone{{Name: "example.org", Key: "signpost", Records: `
www A 192.0.2.1
a-www TXT "heritage=external-dns,external-dns/owner=default,external-dns/resource=service/shop/web"
api A 192.0.2.2
a-api TXT "heritage=external-dns,external-dns/owner=elsewhere,external-dns/resource=service/shop/api"
mail A 192.0.2.3`}},
	})
}

func rfc2136(addr string, more ...string) []string {
	host, port, _ := net.SplitHostPort(addr)
	return append([]string{"--provider=rfc2136", "--rfc2136-host=" + host, "--rfc2136-port=" + port, "--rfc2136-tsig-secret-alg=hmac-sha256"}, more...)
}

// Each case has one problem, and check names it. Invalid settings and refusals of the server are
// failed and not unknown, because they are permanent, such as a secret that isn't base64 (findings
// M9).
func TestZonesOfBIND(t *testing.T) {
	t.Parallel()
	server := startBIND(t)
	zone, key, secret, axfr := "--rfc2136-zone=example.org", "--rfc2136-tsig-keyname=signpost", "--rfc2136-tsig-secret="+goodSecret, "--rfc2136-axfr"
	for name, test := range map[string]struct {
		args []string
		want []string
		code int
	}{
		"fit": {
			args: []string{zone, key, secret, axfr, "--txt-prefix=%{record_type}-."},
			want: []string{"ok the zone example.org can be read: "},
		},
		"owners and apex": {
			args: []string{zone, key, secret, axfr},
			want: []string{
				`ok the zone example.org can be read: 4 record sets, 1 of which "default" owns`,
				`note the zone example.org has records of other owners: "elsewhere" (1)`,
				`note 1 record sets of the zone example.org have the owner "default" already`,
				"note records at example.org itself would be refused, because their ownership record a-example.org is outside of the zone",
			},
		},
		"no owners": {
			args: []string{zone, key, secret, axfr, "--registry=noop"},
			want: []string{"ok the zone example.org can be read: 6 record sets"},
		},
		"wrong secret":                     {args: []string{zone, key, "--rfc2136-tsig-secret=" + otherSecret, axfr}, want: []string{"failed the zone example.org: list zone example.org.: ADDR: transfer: credentials not accepted: the signature is wrong (BADSIG)"}, code: 1},
		"secret that isn't base64":         {args: []string{zone, key, "--rfc2136-tsig-secret=not base64!", axfr}, want: []string{"failed rfc2136: "}, code: 1},
		"unknown key":                      {args: []string{zone, "--rfc2136-tsig-keyname=other", secret, axfr}, want: []string{"failed the zone example.org: list zone example.org.: ADDR: transfer: credentials not accepted: the server doesn't know the key (BADKEY)"}, code: 1},
		"wrong secret, without a transfer": {args: []string{zone, key, "--rfc2136-tsig-secret=" + otherSecret}, want: []string{"failed the zone example.org: ask for the SOA of example.org.: ADDR: credentials not accepted: the signature is wrong (BADSIG)"}, code: 1},
		"no such zone":                     {args: []string{"--rfc2136-zone=example.net", key, secret, axfr}, want: []string{"failed the zone example.net: list zone example.net.: ADDR: transfer: credentials not accepted: the server is not authoritative for the zone"}, code: 1},
		"no such zone, without a transfer": {args: []string{"--rfc2136-zone=example.net", key, secret}, want: []string{"failed the zone example.net: ask for the SOA of example.net.: ADDR: "}, code: 1},
		"without a transfer":               {args: []string{zone, key, secret, "--txt-prefix=%{record_type}-."}, want: []string{"ok the zone example.org is there", "note the content of the zone example.org is unknown, so nothing is deleted or taken over"}},
		"filter without a zone":            {args: []string{zone, key, secret, axfr, "--txt-prefix=%{record_type}-.", "--domain-filter=example.org", "--domain-filter=shop.example.com"}, want: []string{"failed the provider has no zone for --domain-filter=shop.example.com", "ok the zone example.org can be read"}, code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, code := checkZones(t, testLimit, rfc2136(server.Addr.String(), test.args...)...)
			if code != test.code || !beginLike(lines, test.want, server.Addr.String()) {
				t.Errorf("exit code %d, want %d:\n%s", code, test.code, cmp.Diff(test.want, lines))
			}
		})
	}
}

// beginLike reports whether each line begins with the wanted one. More notes may follow about owners
// and the apex, unless they are wanted.
func beginLike(lines, want []string, addr string) bool {
	if len(lines) < len(want) {
		return false
	}
	for i, w := range want {
		if !strings.HasPrefix(lines[i], strings.ReplaceAll(w, "ADDR", addr)) {
			return false
		}
	}
	for _, line := range lines[len(want):] {
		if !strings.HasPrefix(line, string(Note)) {
			return false
		}
	}
	return true
}

// The result is unknown for a server that doesn't respond and for one that is unreachable.
func TestProviderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for name, args := range map[string][]string{
		"BIND that is silent":     rfc2136(silent.Addr().String(), "--rfc2136-zone=example.org", "--rfc2136-insecure", "--rfc2136-axfr"),
		"BIND that isn't there":   rfc2136(closed.Addr().String(), "--rfc2136-zone=example.org", "--rfc2136-insecure"),
		"PowerDNS that is silent": {"--provider=pdns", "--pdns-server=http://" + silent.Addr().String(), "--pdns-api-key=any"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			lines, code := checkZones(t, time.Second, args...)
			if code != 2 || len(lines) != 1 || !strings.HasPrefix(lines[0], string(Unknown)) || time.Since(start) > 5*time.Second {
				t.Errorf("after %v: exit code %d, %q", time.Since(start), code, lines)
			}
		})
	}
}

// Zones are read up to a limit, and the others are counted.
func TestManyZones(t *testing.T) {
	t.Parallel()
	args := []string{"--provider=inmemory", "--txt-prefix=%{record_type}-."}
	for i := range maxZones + 5 {
		args = append(args, fmt.Sprintf("--inmemory-zone=z%d.example.org", i))
	}
	lines, code := checkZones(t, testLimit, args...)
	if code != 0 || len(lines) != maxZones+1 || lines[maxZones] != "note 5 more zones were not read" {
		t.Errorf("exit code %d, %q", code, lines)
	}
}

func TestZonesOfPowerDNS(t *testing.T) {
	t.Parallel()
	server, err := pdnstest.Start(t.Context(), pdnstest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	if err := server.CreateZone(t.Context(), "example.org"); err != nil {
		t.Fatal(err)
	}
	login := []string{"--provider=pdns", "--pdns-server=" + server.API}
	for name, test := range map[string]struct {
		args []string
		want string
		code int
	}{
		"fit":          {args: []string{"--pdns-api-key=" + pdnstest.APIKey}, want: "ok the zone example.org can be read: "},
		"wrong key":    {args: []string{"--pdns-api-key=wrong"}, want: "failed pdns: list the zones: ", code: 1},
		"missing zone": {args: []string{"--pdns-api-key=" + pdnstest.APIKey, "--domain-filter=example.com"}, want: "failed the provider has no zone for --domain-filter=example.com", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			lines, code := checkZones(t, testLimit, append(login, test.args...)...)
			if code != test.code || len(lines) == 0 || !strings.HasPrefix(lines[0], test.want) {
				t.Errorf("exit code %d, %q; want %d, %q", code, lines, test.code, test.want)
			}
		})
	}
}

// Records of our owner by two instances are a failure, by one instance they are not (tenants, two
// processes with one owner ID).
func TestInstancesOfOneOwner(t *testing.T) {
	failed := func(instances map[string]int) (texts []string) {
		z := configure.ZoneSurvey{Zone: dns.Zone{Name: "example.org"}, Read: true, Records: 8, Owners: map[string]int{"default": 8}, Instances: instances}
		for _, r := range zoneResults(t.Context(), "default", z) {
			if r.State == Failed {
				texts = append(texts, r.Text)
			}
		}
		return texts
	}
	if got := failed(map[string]int{"east": 5}); len(got) > 0 {
		t.Errorf("one instance: %v", got)
	}
	if got := failed(map[string]int{"east": 5, "west": 2}); len(got) != 1 || !strings.Contains(got[0], `"east" (5), "west" (2)`) {
		t.Errorf("two instances: %v", got)
	}
}
