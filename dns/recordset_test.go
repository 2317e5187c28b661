package dns_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

func TestNormal(t *testing.T) {
	tests := map[string]struct {
		name, recordType string
		ttl              int64
		targets          []string
		want             dns.RecordSet
	}{
		"case 118: dots": {
			name: "example.org.", recordType: "CNAME", targets: []string{"foo.com."},
			want: dns.RecordSet{Name: "example.org", Type: "CNAME", Targets: []string{"foo.com"}},
		},
		"case 118: TXT": {
			name: "example.org", recordType: "TXT", ttl: 5, targets: []string{"v=spf1 include:Foo.com. -all."},
			want: dns.RecordSet{Name: "example.org", Type: "TXT", TTL: 5, Targets: []string{"v=spf1 include:Foo.com. -all."}},
		},
		"type and case": {name: "WWW.example.org", recordType: "a", ttl: -1, want: dns.RecordSet{Name: "www.example.org", Type: "A"}},
		"internationalised": {
			name: "bücher.example.org", recordType: "CNAME", targets: []string{"Ähren.example.org."},
			want: dns.RecordSet{Name: "xn--bcher-kva.example.org", Type: "CNAME", Targets: []string{"xn--hren-koa.example.org"}},
		},
		"spellings of addresses": {
			name: "a.org", recordType: "AAAA", targets: []string{"2001:DB8:0:0::1", "::ffff:1.2.3.4", "2001:db8::2."},
			want: dns.RecordSet{Name: "a.org", Type: "AAAA", Targets: []string{"2001:db8::1", "::ffff:1.2.3.4", "2001:db8::2"}},
		},
		"alias": {
			name: "a.org", recordType: "A", targets: []string{" LB.example.org. "},
			want: dns.RecordSet{Name: "a.org", Type: "A", Targets: []string{"lb.example.org"}},
		},
		"MX": {
			name: "a.org", recordType: "MX", targets: []string{"10 Mail.a.org.", "0 .", "10 bücher.de."},
			want: dns.RecordSet{Name: "a.org", Type: "MX", Targets: []string{"10 Mail.a.org", "0 .", "10 xn--bcher-kva.de"}},
		},
		"SRV": {
			name: "_a._tcp.a.org", recordType: "SRV", targets: []string{"0 50 80 A.org.", "0 50 80 bücher.de."},
			want: dns.RecordSet{Name: "_a._tcp.a.org", Type: "SRV", Targets: []string{"0 50 80 A.org.", "0 50 80 xn--bcher-kva.de."}},
		},
		"NAPTR": {
			name: "a.org", recordType: "NAPTR", targets: []string{`10 20 "s" "SIP+D2U" "" _sip._udp.a.org.`},
			want: dns.RecordSet{Name: "a.org", Type: "NAPTR", Targets: []string{`10 20 "s" "SIP+D2U" "" _sip._udp.a.org.`}},
		},
		"another type": {
			name: "a.org", recordType: "CAA", targets: []string{`0 issue "CA.org"`},
			want: dns.RecordSet{Name: "a.org", Type: "CAA", Targets: []string{`0 issue "CA.org"`}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			given := slices.Clone(test.targets)
			got := (&dns.RecordSet{Name: test.name, Type: test.recordType, TTL: test.ttl, Targets: given}).Normal()
			if diff := cmp.Diff(&test.want, got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
			if !slices.Equal(given, test.targets) {
				t.Errorf("the targets were changed to %q", given)
			}
			if got.Normal() != got {
				t.Error("Normal changes it once more")
			}
		})
	}
}

// Normal doesn't change its argument.
func TestNormalCopies(t *testing.T) {
	r := &dns.RecordSet{Name: "A.org", Type: "CNAME", Targets: []string{"b.org", "C.org."}}
	before := r.Clone()
	before.Labels = nil
	if got, want := r.Normal().Targets, []string{"b.org", "c.org"}; !slices.Equal(got, want) {
		t.Errorf("the targets are %q, want %q", got, want)
	}
	if diff := cmp.Diff(before, r); diff != "" {
		t.Errorf("the argument was changed: -, +\n%s", diff)
	}
}

// The format is that of ExternalDNS (spec/dns.md §1.1), without empty fields.
func TestRecordSetJSON(t *testing.T) {
	full := dns.RecordSet{
		Name: "a.org", Targets: []string{"1.2.3.4"}, Type: "A", SetIdentifier: "blue", TTL: 60,
		Labels: map[string]string{"owner": "me"}, Properties: []dns.Property{{Name: "alias", Value: "false"}},
		Objects: []dns.Object{{Name: "not written"}},
	}
	tests := map[string]dns.RecordSet{
		`{}`: {},
		`{"dnsName":"a.org","targets":["1.2.3.4"],"recordType":"A","setIdentifier":"blue","recordTTL":60,` +
			`"labels":{"owner":"me"},"providerSpecific":[{"name":"alias","value":"false"}]}`: full,
	}
	for want, r := range tests {
		got, err := json.Marshal(r)
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestTypeOfTarget(t *testing.T) {
	for target, want := range map[string]string{
		"1.2.3.4": "A", "::1": "AAAA", "::ffff:1.2.3.4": "AAAA", "1.2.3": "CNAME", "01.2.3.4": "CNAME", "lb.example.org": "CNAME", "": "CNAME",
	} {
		if got := dns.TypeOfTarget(target); got != want {
			t.Errorf("TypeOfTarget(%q) = %s, want %s", target, got, want)
		}
	}
}

func TestPerType(t *testing.T) {
	like := &dns.RecordSet{
		Name: "Shop.example.org.", TTL: 60, SetIdentifier: "blue", Properties: []dns.Property{{Name: "aws/weight", Value: "1"}},
		Labels: map[string]string{"resource": "service/default/shop"}, Objects: []dns.Object{{Kind: "Service", Name: "shop"}},
	}
	set := func(recordType string, targets ...string) *dns.RecordSet {
		r := like.Clone()
		r.Name, r.Type, r.Targets = "shop.example.org", recordType, targets
		return r
	}
	want := []*dns.RecordSet{
		set("A", "192.0.2.2", "192.0.2.1"), set("AAAA", "2001:db8::1", "::ffff:1.2.3.4"), set("CNAME", "lb.example.org"),
	}
	got := like.PerType([]string{"lb.example.org.", "2001:db8::1", "192.0.2.2", "192.0.2.1", "::ffff:1.2.3.4"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if got := like.PerType(nil); len(got) != 0 {
		t.Errorf("got %v for no targets", got)
	}
}
