package provider

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
)

// Zones with names or IDs that can't be any are not used, and logged in one line until their number
// changes, cut and without control characters (tenants S16).
func TestUsable(t *testing.T) {
	usual := []dns.Zone{
		{ID: "1", Name: "example.org"},
		{},
		{ID: "0/25.2.0.192.in-addr.arpa.", Name: "0/25.2.0.192.in-addr.arpa"},
		{ID: "Z1", Name: "_tcp.tést.example"},
		{ID: "/subscriptions/" + strings.Repeat("x", 500), Name: "shop.test"},
	}
	odd := []dns.Zone{
		{ID: "a", Name: strings.Repeat("b", 100_000)},
		{ID: strings.Repeat("a", 100_000), Name: "b"},
		{ID: "\x1b[31m", Name: "c"},
		{ID: "x", Name: "x\ny"},
		{ID: "x", Name: "a b"},
		{ID: "x", Name: "\u202eevil.example"},
		{ID: "x", Name: "\xff.example"},
		{ID: "x", Name: "a\x00"},
	}
	var out bytes.Buffer
	var names ZoneNames
	log := slog.New(slog.NewTextHandler(&out, nil))
	list := func(zones []dns.Zone) int {
		return len(Usable(&names, log, zones, func(z dns.Zone) dns.Zone { return z }))
	}
	for range 3 {
		if n := list(append(odd[:len(odd):len(odd)], usual...)); n != len(usual) {
			t.Errorf("%d zones can be used, want %d", n, len(usual))
		}
	}
	if text := out.String(); strings.Count(text, "\n") != 1 || len(text) > 1000 || !strings.Contains(text, "zones=8") || !strings.Contains(text, "(100000 bytes)") {
		t.Errorf("the log has %d bytes: %.1000s", len(text), text)
	}
	list(odd[1:])
	list(usual)
	list(odd[:1])
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines: %s", n, out.String())
	}
}
