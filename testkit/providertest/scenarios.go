package providertest

import "github.com/signpostd/signpost/dns"

// scenarios are for every provider that supports their types.
var scenarios = []scenario{
	{name: "A", needs: []string{dns.TypeA}, states: [][]record{
		{address("www", "192.0.2.1")}, {address("www", "192.0.2.2")},
	}},
	{name: "AAAA", needs: []string{dns.TypeAAAA}, states: [][]record{
		{address6("www", "2001:db8::1")}, {address6("www", "2001:db8:0:0::2").withSeen("2001:db8::2")},
	}},
	{name: "CNAME", needs: []string{dns.TypeCNAME}, states: [][]record{
		{alias("www", "lb.example.net")}, {alias("www", "lb2.example.net")},
	}},
	{name: "TXT", needs: []string{dns.TypeTXT}, states: [][]record{
		{text("text", `"v=1"`)},
		{text("text", `"v=2"`)},
		{text("text", `"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/shop"`)},
	}},
	{name: "TXT with spaces and special characters", needs: []string{dns.TypeTXT}, states: [][]record{
		{text("text", `"v=spf1 include:_spf.example.net ~all"`)},
		{text("text", `"a;b (c) <d> 'e' $f @g #h %i {j} |k ~l"`)},
		{text("text", `"say \"hi\" and C:\\dir"`)},
	}},
	{name: "TXT that is long", needs: []string{dns.TypeTXT}, states: [][]record{
		{text("text", `"`+longText+`"`)}, {text("text", `"`+longText+`x"`)}, {text("text", `"`+longText[:255]+`"`)},
	}},
	{name: "TXT of several values", needs: []string{dns.TypeTXT}, states: [][]record{
		{text("text", `"one"`, `"two"`)}, {text("text", `"two"`, `"three"`)}, {text("text", `"Two"`, `"three"`)},
	}},
	{name: "TXT beside others", needs: []string{dns.TypeA, dns.TypeTXT}, states: [][]record{
		{address("www", "192.0.2.1"), text("www", `"note"`)},
		{text("www", `"note"`)},
		{address("www", "192.0.2.1"), text("www", `"note"`)},
		{address("www", "192.0.2.1")},
	}},
	{name: "ownership record", needs: []string{dns.TypeA, dns.TypeCNAME, dns.TypeTXT}, states: [][]record{
		{address("www", "192.0.2.1"), text("a-www", `"heritage=external-dns,external-dns/owner=kit"`).of("www")},
		{address("www", "192.0.2.2"), text("a-www", `"heritage=external-dns,external-dns/owner=other"`).of("www")},
		{alias("www", "lb.example.net"), text("cname-www", `"heritage=external-dns,external-dns/owner=other"`).of("www")},
	}},
	{name: "SRV", needs: []string{dns.TypeSRV}, states: [][]record{
		{{name: "_sip._tcp", recordType: dns.TypeSRV, ttl: 300, targets: []string{"10 5 5060 sip1.example.net.", "20 0 5060 sip2.example.net."}}},
		{{name: "_sip._tcp", recordType: dns.TypeSRV, ttl: 300, targets: []string{"10 5 5061 sip1.example.net."}}},
	}},
	{name: "MX", needs: []string{dns.TypeMX}, states: [][]record{
		{{
			name: "mail", recordType: dns.TypeMX, ttl: 300, targets: []string{"10 mx1.example.net", "20 mx2.example.net"},
			seen: []string{"10 mx1.example.net.", "20 mx2.example.net."},
		}},
		{{name: "mail", recordType: dns.TypeMX, ttl: 300, targets: []string{"15 mx1.example.net"}, seen: []string{"15 mx1.example.net."}}},
	}},
	{name: "NS", needs: []string{dns.TypeNS}, states: [][]record{
		{{
			name: "team", recordType: dns.TypeNS, ttl: 300, targets: []string{"ns1.example.net", "ns2.example.net"},
			seen: []string{"ns1.example.net.", "ns2.example.net."},
		}},
		{{name: "team", recordType: dns.TypeNS, ttl: 300, targets: []string{"ns3.example.net"}, seen: []string{"ns3.example.net."}}},
	}},
	{name: "PTR", needs: []string{dns.TypePTR}, reverse: true, states: [][]record{
		{{name: "7", recordType: dns.TypePTR, ttl: 300, targets: []string{"www.example.net"}, seen: []string{"www.example.net."}}},
		{{name: "7", recordType: dns.TypePTR, ttl: 300, targets: []string{"api.example.net"}, seen: []string{"api.example.net."}}},
	}},
	{name: "NAPTR", needs: []string{dns.TypeNAPTR}, states: [][]record{
		{{name: "tel", recordType: dns.TypeNAPTR, ttl: 300, targets: []string{`100 10 "U" "E2U+sip" "!^.*$!sip:info@example.net!" .`}}},
		{{name: "tel", recordType: dns.TypeNAPTR, ttl: 300, targets: []string{`100 20 "S" "SIP+D2U" "" _sip._udp.example.net.`}}},
	}},
	{name: "DNAME", needs: []string{dns.TypeDNAME}, states: [][]record{
		{{name: "old", recordType: dns.TypeDNAME, ttl: 300, targets: []string{"new.example.net"}, seen: []string{"new.example.net."}}},
		{{name: "old", recordType: dns.TypeDNAME, ttl: 300, targets: []string{"newer.example.net"}, seen: []string{"newer.example.net."}}},
	}},
	{name: "several targets", needs: []string{dns.TypeA}, states: [][]record{
		{address("many", "192.0.2.1", "192.0.2.2", "192.0.2.3")},
		{address("many", "192.0.2.3", "192.0.2.4", "192.0.2.1")},
		{address("many", "192.0.2.9")},
		{address("many", "192.0.2.9", "192.0.2.10")},
	}},
	{name: "TTL", needs: []string{dns.TypeA}, states: [][]record{
		{address("ttl", "192.0.2.1").withTTL(60)},
		{address("ttl", "192.0.2.1").withTTL(3600)},
		{address("ttl", "192.0.2.2", "192.0.2.3").withTTL(120)},
		{address("ttl", "192.0.2.2", "192.0.2.3").withTTL(600)},
	}},
	{name: "no TTL", needs: []string{dns.TypeA}, states: [][]record{
		{address("ttl", "192.0.2.1").withTTL(0)}, {address("ttl", "192.0.2.2").withTTL(0)},
	}},
	{name: "wildcard", needs: []string{dns.TypeA, dns.TypeCNAME}, states: [][]record{
		{address("*.apps", "192.0.2.1"), address("*", "192.0.2.2")},
		{address("*.apps", "192.0.2.3"), alias("*", "lb.example.net")},
		{address("*.apps", "192.0.2.3"), address("one.apps", "192.0.2.4")},
	}},
	{name: "apex", needs: []string{dns.TypeA, dns.TypeAAAA, dns.TypeTXT}, states: [][]record{
		{address("@", "192.0.2.1"), text("@", `"v=spf1 -all"`)}, {address("@", "192.0.2.2"), address6("@", "2001:db8::1")},
	}},
	{name: "underscore", needs: []string{dns.TypeA, dns.TypeTXT, dns.TypeCNAME}, states: [][]record{
		{text("_acme-challenge.www", `"token"`), alias("_domainconnect", "connect.example.net")}, {text("_acme-challenge.www", `"another"`)},
	}},
	{name: "capital letters", needs: []string{dns.TypeA, dns.TypeCNAME}, states: [][]record{
		{address("CamelCase", "192.0.2.1"), alias("Shop", "LB.Example.net")},
		{address("camelcase", "192.0.2.2"), alias("shop", "lb2.example.net")},
		{address("CAMELCASE", "192.0.2.3")},
	}},
	{name: "international name", needs: []string{dns.TypeA}, states: [][]record{
		{{name: "bücher", wire: "xn--bcher-kva", recordType: dns.TypeA, targets: []string{"192.0.2.1"}, ttl: 300}},
		{{name: "bücher", wire: "xn--bcher-kva", recordType: dns.TypeA, targets: []string{"192.0.2.2"}, ttl: 300}},
	}},
	{name: "longest label", needs: []string{dns.TypeA}, states: [][]record{
		{address(longLabel+"."+longLabel, "192.0.2.1")}, {address(longLabel+"."+longLabel, "192.0.2.2")},
	}},
	{name: "type change", needs: []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME}, states: [][]record{
		{alias("www", "lb.example.net"), address("other", "192.0.2.9")},
		{address("www", "192.0.2.1"), address6("www", "2001:db8::1"), address("other", "192.0.2.9")},
		{alias("www", "lb.example.net"), address("other", "192.0.2.8")},
		{address("www", "192.0.2.1")},
	}},
	{name: "deletions are exact", needs: []string{dns.TypeA, dns.TypeAAAA}, states: [][]record{
		{address("x", "192.0.2.1"), address6("x", "2001:db8::1"), address("xx", "192.0.2.2"), address("below.x", "192.0.2.3"), address("*.x", "192.0.2.4")},
		{address6("x", "2001:db8::1"), address("xx", "192.0.2.2"), address("below.x", "192.0.2.3"), address("*.x", "192.0.2.4")},
		{address("xx", "192.0.2.2"), address("below.x", "192.0.2.3")},
		{address("x", "192.0.2.1"), address("below.x", "192.0.2.3")},
		{address("x", "192.0.2.1")},
	}},
	{name: "many names", needs: []string{dns.TypeA, dns.TypeTXT}, states: [][]record{crowd(2), crowd(3), crowd(3)[:20]}},
}
