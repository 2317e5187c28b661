package rfc2136

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/pdnstest"
)

// pdnsServer is a running PowerDNS.
type pdnsServer struct {
	*pdnstest.Server
	addr netip.AddrPort
}

// powerDNS starts a PowerDNS with zones that may be transferred and updated with the usual key.
// It ends with the test.
func powerDNS(t *testing.T, zones ...string) pdnsServer {
	t.Helper()
	s, err := pdnstest.Start(t.Context(), pdnstest.Config{Key: &pdnstest.Key{Name: keyName, Algorithm: testKey.Algorithm, Secret: keySecret}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Stop()
	})
	for _, zone := range zones {
		if err := s.CreateZone(t.Context(), zone); err != nil {
			t.Fatal(err)
		}
	}
	return pdnsServer{Server: s, addr: netip.MustParseAddrPort(s.DNS)}
}

// mustRequest asks the API.
func (s pdnsServer) mustRequest(t *testing.T, method, path string, message any) {
	t.Helper()
	if _, err := s.Request(t.Context(), method, path, message); err != nil {
		t.Fatal(err)
	}
}

// Faults, row 22: another server that speaks RFC 2136.
func TestConformancePowerDNS(t *testing.T) {
	zones := conformingZones()
	var names []string
	for _, z := range zones {
		names = append(names, z.Name)
	}
	conform(t, powerDNS(t, names...).addr.Port(), zones)
}

// The prerequisites of an update count with PowerDNS, too.
func TestZoneIsNotAsListedPowerDNS(t *testing.T) {
	s := powerDNS(t)
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			if err := s.CreateZone(t.Context(), zoneName); err != nil {
				t.Fatal(err)
			}
			c.check(t, s.addr)
			s.mustRequest(t, http.MethodDelete, "zones/"+zoneName+".", nil)
		})
	}
}

// With wrong credentials nothing is changed. PowerDNS doesn't say what it has against them: where
// BIND answers BADKEY or BADSIG, it refuses the update.
func TestCredentialsPowerDNS(t *testing.T) {
	s := powerDNS(t, zoneName)
	s.mustRequest(t, http.MethodPost, "tsigkeys", map[string]any{"name": "other-key", "algorithm": "hmac-sha512", "key": keySecret})
	for name, edit := range map[string]func(*Config){
		"unknown key":             func(c *Config) { c.TSIGKeyName = "nobody" },
		"wrong secret":            func(c *Config) { c.TSIGSecret = "d3Jvbmctd3Jvbmctd3Jvbmctd3Jvbmc=" },
		"wrong algorithm":         func(c *Config) { c.TSIGAlgorithm = "hmac-sha1" },
		"not the key of the zone": func(c *Config) { c.TSIGKeyName, c.TSIGAlgorithm = "other-key", "hmac-sha512" },
		"no key":                  func(c *Config) { c.Insecure = true },
	} {
		t.Run(name, func(t *testing.T) {
			c := settings(nil, at(s.addr), edit)
			p := open(t, c)
			err := apply(t, p, created(record("a", "A", "192.0.2.1")), created(record("b", "A", "192.0.2.1")))
			var applyError *provider.ApplyError
			if !errors.Is(err, provider.ErrCredentials) || errors.As(err, &applyError) || !strings.Contains(err.Error(), "(REFUSED)") {
				t.Errorf("Apply: %v, want ErrCredentials with (REFUSED)", err)
			}
			if _, err := p.Records(t.Context(), testZone); !errors.Is(err, provider.ErrCredentials) {
				t.Errorf("Records: %v", err)
			}
			if strings.Contains(err.Error(), c.TSIGSecret) {
				t.Errorf("the error has the secret: %v", err)
			}
		})
	}
	expect(t, open(t, settings(nil, at(s.addr))))
}
