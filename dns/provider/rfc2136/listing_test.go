package rfc2136

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/bindtest"
)

// Listing an unchanged zone costs a query, not a transfer.
func TestSerial(t *testing.T) {
	s := oneZone(t, "www A 192.0.2.1")
	p := open(t, settings(s))
	list := func(wantTransfers int, want ...string) {
		t.Helper()
		expect(t, p, want...)
		if got := transfers(s); got != wantTransfers {
			t.Fatalf("%d transfers, want %d\n%s", got, wantTransfers, s.Log())
		}
	}
	list(1, "www 300 A 192.0.2.1")
	list(1, "www 300 A 192.0.2.1")
	somebodyElse(t, s, []string{"new 300 A 192.0.2.2"}, nil)
	list(2, "new 300 A 192.0.2.2", "www 300 A 192.0.2.1")
	list(2, "new 300 A 192.0.2.2", "www 300 A 192.0.2.1")
	mustApply(t, p, deleted(record("new", "A", "192.0.2.2")))
	list(3, "www 300 A 192.0.2.1")
	list(3, "www 300 A 192.0.2.1")
	// The zone was changed and changed back, so its serial number is different.
	somebodyElse(t, s, []string{"new 300 A 192.0.2.2"}, nil)
	somebodyElse(t, s, nil, []string{"new 0 A 192.0.2.2"})
	list(4, "www 300 A 192.0.2.1")
	// After a long time, the serial number isn't enough.
	p.zones[zoneName].last.at = time.Now().Add(-trust)
	list(5, "www 300 A 192.0.2.1")
	// The caller may change the record sets of a listing.
	first, err := p.Records(t.Context(), testZone)
	if err != nil {
		t.Fatal(err)
	}
	clear(first)
	list(5, "www 300 A 192.0.2.1")
}

// A transfer isn't remembered if an update was sent while it was running.
func TestUpdateDuringTransfer(t *testing.T) {
	z := &zone{full: "example.test."}
	sent := z.sent()
	z.forget()
	z.remember(&listing{server: "s", at: time.Now()}, sent)
	if z.remembered("s", time.Now()) != nil {
		t.Error("the listing is remembered")
	}
	z.remember(&listing{server: "s", at: time.Now()}, z.sent())
	if z.remembered("s", time.Now()) == nil || z.remembered("other", time.Now()) != nil {
		t.Error("the listing isn't remembered, or for the wrong server")
	}
}

// Zones in other zones: each name belongs to the closest one.
func TestNestedZones(t *testing.T) {
	const glue = "sub NS ns.sub\nns.sub A 192.0.2.53\nwww A 192.0.2.1\nwww.notsub A 192.0.2.2"
	s := bind(t, bindtest.Config{Zones: []bindtest.Zone{{Name: zoneName, Records: glue}, {Name: "sub." + zoneName, Records: "x A 192.0.2.3"}}})
	p := open(t, settings(s, func(c *Config) { c.Zones = []string{zoneName, "Sub.Example.test."} }))
	expect(t, p, "www 300 A 192.0.2.1", "www.notsub 300 A 192.0.2.2")
	sub := dns.Zone{Name: "sub." + zoneName}
	list, err := p.Records(t.Context(), sub)
	if got := lines(list); err != nil || !slices.Equal(got, []string{"sub 300 NS ns.invalid", "x.sub 300 A 192.0.2.3"}) {
		t.Errorf("%v, %v", got, err)
	}
	if err := apply(t, p, created(record("y.sub", "A", "192.0.2.4"))); err == nil {
		t.Error("a name of the zone below was accepted")
	}
	zones, err := p.Zones(t.Context())
	if want := []dns.Zone{{ID: zoneName, Name: zoneName}, {ID: "sub." + zoneName, Name: "sub." + zoneName}}; err != nil || !slices.Equal(zones, want) {
		t.Errorf("Zones: %v, %v", zones, err)
	}
}

// Without --rfc2136-zone the zone is the root.
func TestRoot(t *testing.T) {
	s := bind(t, bindtest.Config{Zones: []bindtest.Zone{{Name: "", Records: "www.example.test. A 192.0.2.1"}}})
	p := open(t, settings(s, func(c *Config) { c.Zones = nil }))
	root := dns.Zone{}
	www := record("www", "A", "192.0.2.1")
	if err := p.Apply(t.Context(), root, []dns.Change{replaced(www, record("www", "A", "192.0.2.2"))}); err != nil {
		t.Fatal(err)
	}
	list, err := p.Records(t.Context(), root)
	if got := lines(list); err != nil || !slices.Contains(got, "www 300 A 192.0.2.2") || len(got) != 2 {
		t.Errorf("%q, %v", got, err)
	}
}

// Without AXFR zones seem to be empty; creating what is there again does no harm.
func TestWithoutTransfers(t *testing.T) {
	s := oneZone(t, "there A 192.0.2.1\nalias CNAME other.example.net.")
	p := open(t, settings(s, func(c *Config) { c.AXFR = false }))
	if list, err := p.Records(t.Context(), testZone); err != nil || list != nil {
		t.Errorf("Records: %v, %v", list, err)
	}
	for range 2 {
		mustApply(t, p, created(record("there", "A", "192.0.2.1")), created(record("www", "CNAME", "lb.example.net")))
	}
	for _, bad := range []*dns.RecordSet{record("alias", "A", "192.0.2.1"), record("there", "CNAME", "lb.example.net")} {
		if err := apply(t, p, created(bad)); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	expect(t, open(t, settings(s)), "alias 300 CNAME other.example.net", "there 300 A 192.0.2.1", "www 300 CNAME lb.example.net")
	if n := transfers(s); n != 1 {
		t.Errorf("%d transfers", n)
	}
}

// A zone of many messages.
func TestGreatZone(t *testing.T) {
	var records strings.Builder
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&records, "n%d A 192.0.2.%d\n", i, i%250)
	}
	s := oneZone(t, records.String())
	if got := contents(t, open(t, settings(s))); len(got) != n {
		t.Errorf("%d record sets", len(got))
	}
}

// Types that aren't supported are not listed, and do no harm.
func TestOtherTypes(t *testing.T) {
	s := oneZone(t, "www A 192.0.2.1\nwww CAA 0 issue \"ca.example.net\"\nwww HTTPS 1 . alpn=h2\nwww TYPE65400 \\# 2 0102\nfoo\\.bar TXT x")
	expect(t, open(t, settings(s)), `foo\.bar 300 TXT "x"`, "www 300 A 192.0.2.1")
}

// Day2 B15: a zone that was restored while the server was unreachable is transferred, although it has the
// serial number of before, and so are the other zones of the server.
func TestRestoredWithTheSameSerial(t *testing.T) {
	zones := func(target string) bindtest.Config {
		return bindtest.Config{Zones: []bindtest.Zone{{Name: zoneName, Records: "www A " + target}, {Name: "other.test", Records: "www A " + target}}}
	}
	s := bind(t, zones("192.0.2.1"))
	p := open(t, settings(s, func(c *Config) { c.Zones = []string{zoneName, "other.test"} }))
	want := func(target string) {
		t.Helper()
		for _, zone := range []dns.Zone{testZone, {ID: "other.test", Name: "other.test"}} {
			list, err := p.Records(t.Context(), zone)
			if err != nil || !slices.Contains(lines(list), "www 300 A "+target) && !slices.Contains(lines(list), "www.other.test 300 A "+target) {
				t.Errorf("zone %s has %v, %v; want %s", zone.Name, lines(list), err, target)
			}
		}
	}
	want("192.0.2.1")
	address := p.servers.addresses[0]
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if list, err := p.Records(t.Context(), testZone); err == nil {
		t.Fatalf("a server that has stopped answers with %v", lines(list))
	}
	restored := bind(t, zones("192.0.2.2"))
	p.servers.addresses[0] = restored.Addr.String()
	// The provider takes the new server for the one of before.
	for _, z := range p.zones {
		if z.last != nil {
			t.Errorf("the listing of %s by %s is still believed", z.Name, address)
		}
	}
	want("192.0.2.2")
}
