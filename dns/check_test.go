package dns_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

func TestCheck(t *testing.T) {
	alias := func(value string) []dns.Property { return []dns.Property{{Name: "alias", Value: value}} }
	tests := map[string]struct {
		name, recordType string
		targets          []string
		properties       []dns.Property
		err              string
	}{
		"A":                         {recordType: "A", targets: []string{"1.2.3.4"}},
		"A with IPv6":               {recordType: "A", targets: []string{"1.2.3.4", "::1"}, err: `target "::1": not an IPv4 address`},
		"A with IPv4 in IPv6":       {recordType: "A", targets: []string{"::ffff:1.2.3.4"}, err: "not an IPv4 address"},
		"A with name":               {recordType: "A", targets: []string{"lb.example.org"}, err: "not an IPv4 address"},
		"AAAA":                      {recordType: "AAAA", targets: []string{"2001:db8::1"}},
		"AAAA with IPv4 in IPv6":    {recordType: "AAAA", targets: []string{"::ffff:1.2.3.4"}},
		"AAAA with IPv4":            {recordType: "AAAA", targets: []string{"1.2.3.4"}, err: "not an IPv6 address"},
		"AAAA with interface":       {recordType: "AAAA", targets: []string{"fe80::1%eth0"}, err: "not an IPv6 address"},
		"no targets (§17)":          {recordType: "A", err: "there are none"},
		"blank target":              {recordType: "CNAME", targets: []string{" "}, err: `target " ": empty`},
		"no type":                   {targets: []string{"1.2.3.4"}, err: "say A, AAAA"},
		"name (§17)":                {name: "no..label", recordType: "A", targets: []string{"1.2.3.4"}, err: "a label is empty"},
		"long label (§17)":          {name: strings.Repeat("a", 64) + ".org", recordType: "TXT", targets: []string{"x"}, err: "64 bytes"},
		"case 122: MX":              {recordType: "MX", targets: []string{"10 mail"}},
		"case 122: MX one field":    {recordType: "MX", targets: []string{"mail"}, err: "1 fields, and must have 2: preference and host"},
		"case 122: MX number":       {recordType: "MX", targets: []string{"70000 mail"}, err: "number from 0 to 65535"},
		"case 122: MX three fields": {recordType: "MX", targets: []string{"10 a b"}, err: "3 fields"},
		"MX without mail":           {recordType: "MX", targets: []string{"0 ."}},
		"MX host":                   {recordType: "MX", targets: []string{"10 a..b"}, err: "a label is empty"},
		"case 123: SRV":             {recordType: "SRV", targets: []string{"10 5 5060 host."}},
		"case 123: SRV without dot": {recordType: "SRV", targets: []string{"10 5 5060 host"}, err: "ends with a dot"},
		"SRV port":                  {recordType: "SRV", targets: []string{"10 5 -1 host."}, err: `the port is "-1"`},
		"SRV fields":                {recordType: "SRV", targets: []string{"10 5 host."}, err: "3 fields, and must have 4"},
		"SRV without service":       {recordType: "SRV", targets: []string{"0 0 0 ."}},
		"PTR":                       {name: "1.2.0.192.in-addr.arpa", recordType: "PTR", targets: []string{"a.org"}},
		"PTR in IPv6":               {name: "1.0.IP6.arpa", recordType: "PTR", targets: []string{"a.org"}},
		"case 124: PTR with IP":     {name: "1.2.0.192.in-addr.arpa", recordType: "PTR", targets: []string{"1.2.3.4"}, err: "an IP address"},
		"case 124: PTR without":     {name: "1.2.0.192.in-addr.arpa", recordType: "PTR", err: "there are none"},
		"case 124: PTR empty":       {name: "1.2.0.192.in-addr.arpa", recordType: "PTR", targets: []string{""}, err: "empty"},
		"case 124: PTR forward":     {recordType: "PTR", targets: []string{"a.org"}, err: "ends with .in-addr.arpa or .ip6.arpa"},
		"PTR of everything":         {name: "in-addr.arpa", recordType: "PTR", targets: []string{"a.org"}, err: "ends with .in-addr.arpa"},
		"case 125: alias on MX":     {recordType: "MX", targets: []string{"10 mail"}, properties: alias("true"), err: `property alias "true": only`},
		"no alias on TXT":           {recordType: "TXT", targets: []string{"x"}, properties: alias("false"), err: `property alias "false": only`},
		"case 125: alias on A":      {recordType: "A", targets: []string{"lb.example.org"}, properties: alias("true")},
		"alias on AAAA":             {recordType: "AAAA", targets: []string{"lb.example.org"}, properties: alias("AAAA")},
		"alias on the other":        {recordType: "AAAA", targets: []string{"lb.example.org"}, properties: alias("A"), err: "not an IPv6"},
		"no alias":                  {recordType: "A", targets: []string{"lb.example.org"}, properties: alias("false"), err: "not an IPv4"},
		"alias on CNAME":            {recordType: "CNAME", targets: []string{"lb.example.org"}, properties: alias("A")},
		"CNAME label":               {recordType: "CNAME", targets: []string{strings.Repeat("a", 64)}, err: "a label may have 63"},
		"NS, several":               {recordType: "NS", targets: []string{"a.org", "b.org"}},
		"TXT with anything":         {recordType: "TXT", targets: []string{`"a" "b;c"`}},
		// Certain mistakes (dns F15).
		"with a port":       {recordType: "CNAME", targets: []string{"192.0.2.1:443"}, err: "without port"},
		"a network":         {recordType: "CNAME", targets: []string{"192.0.2.1/32"}, err: "prefix length"},
		"in brackets":       {recordType: "CNAME", targets: []string{"[2001:db8::9]"}, err: "brackets"},
		"a URL":             {recordType: "CNAME", targets: []string{"http://lb/"}, err: "a URL"},
		"no address":        {recordType: "CNAME", targets: []string{"192.0.2.256"}, err: "its last label is a number"},
		"a number":          {recordType: "CNAME", targets: []string{"999"}, err: "its last label is a number"},
		"CNAME to address":  {recordType: "CNAME", targets: []string{"192.0.2.1"}, err: "its last label is a number"},
		"CNAME to IPv6":     {recordType: "CNAME", targets: []string{"2001:db8::1"}, err: "not a host name"},
		"a wildcard":        {recordType: "CNAME", targets: []string{"*.example.net"}, err: "a wildcard"},
		"MX to an address":  {recordType: "MX", targets: []string{"10 192.0.2.1"}, err: "its last label is a number"},
		"digits in a name":  {recordType: "CNAME", targets: []string{"1.2.3.example"}},
		"underscore":        {recordType: "CNAME", targets: []string{"_acme.example.net."}},
		"name of a URL":     {name: "https://www.example.org", recordType: "A", targets: []string{"192.0.2.1"}, err: "a URL"},
		"asterisk inside":   {name: "foo.*.example.org", recordType: "A", targets: []string{"192.0.2.1"}},
		"wildcard":          {name: "*.example.org", recordType: "A", targets: []string{"192.0.2.1"}},
		"classless reverse": {name: "1.0/25.2.0.192.in-addr.arpa", recordType: "PTR", targets: []string{"a.org"}},
		"another type":      {recordType: "CAA", targets: []string{`0 issue "ca.org"`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.name == "" {
				test.name = "www.example.org"
			}
			r := dns.RecordSet{Name: test.name, Type: test.recordType, Targets: test.targets, Properties: test.properties}
			wantError(t, r.Check(), test.err)
		})
	}
}

func TestInvalidError(t *testing.T) {
	err := (&dns.RecordSet{Name: "a.org", Type: "A", Targets: []string{"x"}}).Check()
	var got *dns.InvalidError
	if !errors.As(err, &got) {
		t.Fatalf("got %v", err)
	}
	want := &dns.InvalidError{Name: "a.org", Type: "A", Subject: "target", Value: "x", Reason: "not an IPv4 address, as an A record has"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if want := `invalid A record set "a.org": target "x": not an IPv4 address, as an A record has`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
