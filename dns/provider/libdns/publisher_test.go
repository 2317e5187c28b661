package libdns_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
)

// idle publishes once more, and checks that nothing is written.
func idle(t *testing.T, s *libdnstest.Service, publishes func() error) {
	t.Helper()
	s.Calls()
	if err := publishes(); err != nil {
		t.Fatal(err)
	}
	if calls := writes(s); len(calls) > 0 {
		t.Fatalf("an idle cycle writes %v", calls)
	}
}

// A service raises a TTL of 60 to 600: the second run writes nothing (LD5).
func TestLD5SecondRunWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		s.Faults.MinTTL = 10 * time.Minute
		p := open(t, input(), m)
		wanted := []*dns.RecordSet{set("www", dns.TypeA, 60, "192.0.2.1"), set("api", dns.TypeCNAME, 60, "lb.example.net")}
		if err := publish(t, p, wanted); err != nil {
			t.Fatal(err)
		}
		idle(t, s, func() error { return publish(t, p, wanted) })
		if err := publish(t, p, wanted[:1]); err != nil {
			t.Fatal(err)
		}
		expect(t, s, "a-www TXT 600 heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/web", "www A 600 192.0.2.1")
	})
}

// A zone that ExternalDNS made, with the names of its ownership records in both formats, is as it
// is wanted: nothing is written.
func TestZoneOfExternalDNS(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		const text = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/web"
		for _, rr := range []lib.RR{
			{Name: "www", Type: "A", Data: "192.0.2.1"},
			{Name: "a-www", Type: "TXT", Data: text},
			{Name: "old", Type: "A", Data: "192.0.2.2"},
			{Name: "old", Type: "TXT", Data: text},
			{Name: "a-old", Type: "TXT", Data: text},
			{Name: "six", Type: "AAAA", Data: "2001:db8::1"},
			{Name: "aaaa-six", Type: "TXT", Data: text},
			{Name: "api", Type: "CNAME", Data: "lb.example.net."},
			{Name: "cname-api", Type: "TXT", Data: text},
			{Name: "*.apps", Type: "A", Data: "192.0.2.3"},
			{Name: "a-*.apps", Type: "TXT", Data: text},
		} {
			rr.TTL = 5 * time.Minute
			s.Put(zoneName, rr)
		}
		idle(t, s, func() error {
			return publish(t, open(t, input(), m), []*dns.RecordSet{
				set("www", dns.TypeA, 0, "192.0.2.1"), set("old", dns.TypeA, 0, "192.0.2.2"), set("six", dns.TypeAAAA, 0, "2001:db8::1"),
				set("api", dns.TypeCNAME, 0, "lb.example.net"), set("*.apps", dns.TypeA, 0, "192.0.2.3"),
			})
		})
	})
}

// TestCosts counts calls of the module: for the first publication of 10,000 records in 50 zones, an
// idle run, and 100 changes one by one.
func TestCosts(t *testing.T) {
	const zones, names = 50, 100
	synctest.Test(t, func(t *testing.T) {
		s := libdnstest.NewService()
		s.Delay = latency
		var wanted []*dns.RecordSet
		for z := range zones {
			name := fmt.Sprintf("z%d.test", z)
			s.AddZone(name)
			for n := range names {
				wanted = append(wanted, &dns.RecordSet{Name: fmt.Sprintf("n%d.%s", n, name), Type: dns.TypeA, Targets: []string{"192.0.2.1"}, Labels: map[string]string{}})
			}
		}
		p := open(t, input(), s.Module(module.ReplacingAtOnce))
		if err := publish(t, p, wanted); err != nil {
			t.Fatal(err)
		}
		first := count(s)
		if err := publish(t, p, wanted); err != nil {
			t.Fatal(err)
		}
		idle := count(s)
		for i := range 100 {
			old := &dns.RecordSet{Name: fmt.Sprintf("n%d.z0.test", i), Type: dns.TypeA, TTL: 300, Targets: []string{"192.0.2.1"}, Labels: map[string]string{}}
			changed := old.Clone()
			changed.Targets = []string{"192.0.2.2"}
			if err := p.Apply(t.Context(), dns.Zone{ID: "z0.test", Name: "z0.test"}, []dns.Change{{Old: old, New: changed}}); err != nil {
				t.Fatal(err)
			}
		}
		single := count(s)
		t.Logf("first: %v; idle: %v; 100 changes: %v", first, idle, single)
		if first["GetRecords"] > zones*16 || first["AppendRecords"] > zones*2*(1+names/10) || first["records"] != 2*zones*names {
			t.Errorf("the first publication takes %v", first)
		}
		if idle["GetRecords"] != zones || idle["ListZones"] > 2 || len(idle) > 2 {
			t.Errorf("an idle run takes %v", idle)
		}
		if single["GetRecords"] != 200 || single["SetRecords"] != 100 || len(single) != 3 {
			t.Errorf("100 changes take %v", single)
		}
	})
}

// count returns how many calls there were of each method, and how many records were written.
func count(s *libdnstest.Service) map[string]int {
	counts := map[string]int{}
	for _, c := range s.Calls() {
		counts[c.Method]++
		if len(c.Records) > 0 {
			counts["records"] += len(c.Records)
		}
	}
	return counts
}
