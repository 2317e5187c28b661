package libdns_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
)

// answered reports whether a name has an answer.
func answered(s *libdnstest.Service, name string) bool {
	return slices.ContainsFunc(s.Peek(zoneName), func(rr lib.RR) bool { return rr.Name == name && rr.Type != "TXT" })
}

// A CNAME replaces an A record that has an ownership text of the format without a type beside it.
// The text goes first, so that the CNAME isn't refused after the A record was deleted (clouds F2).
func TestCNAMEReplacesOldFormat(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		s.Put(zoneName, lib.RR{Name: "old", Type: "A", TTL: 5 * time.Minute, Data: "192.0.2.2"})
		s.Put(zoneName, lib.RR{Name: "old", Type: "TXT", TTL: 5 * time.Minute, Data: ours + ",external-dns/resource=service/default/web"})
		deletions := 0
		s.After = func(method string, rr lib.RR) error {
			if method == "DeleteRecords" && rr.Type == "A" {
				deletions++
			}
			return nil
		}
		if err := publish(t, open(t, input(), m), []*dns.RecordSet{set("old", dns.TypeCNAME, 0, "lb.example.net")}); err != nil {
			t.Fatal(err)
		}
		if deletions != 1 {
			t.Errorf("the A record was deleted %d times, want once", deletions)
		}
		expect(t, s, "cname-old TXT 300 "+ours+",external-dns/resource=service/default/web", "old CNAME 300 lb.example.net.")
	})
}

// The service refuses a CNAME for a reason that nobody knows beforehand. Then the A record is there
// again, and the same change isn't tried again at once (clouds F2).
func TestRefusedSwapIsTakenBack(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		if err := publish(t, p, []*dns.RecordSet{set("www", dns.TypeA, 0, "192.0.2.1")}); err != nil {
			t.Fatal(err)
		}
		s.Fail = failing(errors.New("no CNAME today"), always, func(_ string, rr lib.RR) bool { return rr.Type == "CNAME" })
		for range 3 {
			if err := publish(t, p, []*dns.RecordSet{set("www", dns.TypeCNAME, 0, "lb.example.net")}); err == nil {
				t.Error("no error")
			}
			if !answered(s, "www") {
				t.Errorf("the name has no answer: %v", s.Records(zoneName))
			}
		}
		deletions := 0
		for _, c := range s.Calls() {
			if c.Method == "DeleteRecords" && slices.ContainsFunc(c.Records, func(rr lib.RR) bool { return rr.Type == "A" }) {
				deletions++
			}
		}
		if deletions != 1 {
			t.Errorf("the A record was deleted %d times, want once", deletions)
		}
	})
}
