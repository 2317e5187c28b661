package cloudflare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
)

// A zone that ExternalDNS has made, with its default settings and with ownership records in each of its
// formats, is left as it is (spec/dns.md §4.2.3, §8.5).
func TestZoneOfExternalDNS(t *testing.T) {
	comment := "by external-dns"
	for _, test := range []struct {
		name           string
		prefix, suffix string
		// texts are the names of the ownership records of a name and type.
		texts []string
	}{
		{name: "with types", texts: []string{"%[1]s-%[2]s"}},
		{name: "with types and without", texts: []string{"%[1]s-%[2]s", "%[2]s"}},
		{name: "prefix", prefix: "own-", texts: []string{"own-%[1]s-%[2]s"}},
		{name: "prefix, both", prefix: "own-", texts: []string{"own-%[1]s-%[2]s", "own-%[2]s"}},
		{name: "suffix", suffix: "-own", texts: []string{"%[1]s-%[2]s-own"}},
		{name: "suffix, both", suffix: "-own", texts: []string{"%[1]s-%[2]s-own", "%[2]s-own"}},
		{name: "type in the prefix", prefix: "own-%{record_type}.", texts: []string{"own-%[1]s.%[2]s"}},
		{name: "type in the suffix", suffix: "-%{record_type}", texts: []string{"%[2]s-%[1]s"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, free, func(w *fixture) {
				w.Prefix, w.Suffix, w.Owner = test.prefix, test.suffix, "default"
				w.Managed = []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeMX, dns.TypeSRV, dns.TypeNS, dns.TypeTXT}
				for _, r := range made(comment) {
					w.server.Put(w.zone, r)
					for _, text := range test.texts {
						ownership := cloudflaretest.Record{
							Type: "TXT", Content: `"heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/web"`, Comment: r.Comment,
							Name: fmt.Sprintf(text, strings.ToLower(r.Type), strings.TrimSuffix(r.Name, "."+zoneName)) + "." + zoneName,
						}
						if text == "%[2]s" {
							// Without a prefix, there is only room for one beside what isn't a CNAME.
							ownership.Name = r.Name
						}
						if w.server.Get(w.zone, ownership.Name, "TXT") == nil && (text != "%[2]s" || r.Type == "A") {
							w.server.Put(w.zone, ownership)
						}
					}
				}
				w.Settle(0,
					want("a.shop.test", "A", "192.0.2.1,192.0.2.2"), want("a.shop.test", "AAAA", "2001:db8::1"), want("b.shop.test", "A", "192.0.2.1", "proxied=true"),
					want("c.shop.test", "CNAME", "lb.example.net", "ttl=300"), want("d.shop.test", "A", "192.0.2.1", "record-comment="+comment),
					want("m.shop.test", "MX", "10 mx.example.net"), want("s.shop.test", "SRV", "1 2 80 sip.example.net."), want("n.shop.test", "NS", "ns.example.net"), want("t.shop.test", "TXT", `"some text"`))
				// It was all taken for ours, so it all goes when nobody asks for it.
				w.Publish(1)
				if left := w.has(); len(left) > 0 {
					t.Errorf("still there: %v", left)
				}
			})
		})
	}
}

// made returns records as ExternalDNS makes them.
func made(comment string) []cloudflaretest.Record {
	ten, one, two, port := 10.0, 1, 2, 80
	return []cloudflaretest.Record{
		{Name: "a.shop.test", Type: "A", Content: "192.0.2.1"},
		{Name: "a.shop.test", Type: "A", Content: "192.0.2.2"},
		{Name: "a.shop.test", Type: "AAAA", Content: "2001:db8::1"},
		{Name: "b.shop.test", Type: "A", Content: "192.0.2.1", Proxied: true},
		{Name: "c.shop.test", Type: "CNAME", Content: "lb.example.net", TTL: 300},
		{Name: "d.shop.test", Type: "A", Content: "192.0.2.1", Comment: &comment},
		{Name: "m.shop.test", Type: "MX", Content: "mx.example.net", Priority: &ten},
		{Name: "s.shop.test", Type: "SRV", Content: "2\t80\tsip.example.net", Data: &cloudflaretest.Data{Priority: &one, Weight: &two, Port: &port, Target: "sip.example.net"}},
		{Name: "n.shop.test", Type: "NS", Content: "ns.example.net"},
		{Name: "t.shop.test", Type: "TXT", Content: `"some text"`},
	}
}
