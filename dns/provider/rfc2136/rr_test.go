package rfc2136

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

func header(recordType string) mdns.RR_Header {
	return mdns.RR_Header{Name: "x.example.test.", Rrtype: rrTypes[recordType], Class: mdns.ClassINET, Ttl: 60}
}

func TestAdjusted(t *testing.T) {
	long := strings.Repeat("0123456789", 30)
	for _, test := range []struct {
		recordType string
		targets    []string
		want       []string
	}{
		{"A", []string{"192.0.2.2", "192.0.2.1", "192.0.2.2"}, []string{"192.0.2.1", "192.0.2.2"}},
		{"AAAA", []string{"2001:DB8:0:0::1", "2001:db8::1", "::ffff:192.0.2.1"}, []string{"2001:db8::1", "::ffff:192.0.2.1"}},
		{"CNAME", []string{"LB.Example.net."}, []string{"LB.Example.net"}},
		{"CNAME", []string{"bücher.example"}, []string{"xn--bcher-kva.example"}},
		{"CNAME", []string{"."}, []string{"."}},
		{"NS", []string{"ns1.example.net", "NS1.example.net"}, []string{"ns1.example.net"}},
		{"PTR", []string{"a.example.net."}, []string{"a.example.net"}},
		{"DNAME", []string{"a.example.net."}, []string{"a.example.net"}},
		{"MX", []string{"10  mail.example.net.", "0 ."}, []string{"0 .", "10 mail.example.net"}},
		{"SRV", []string{"01 2 3 host.example.net"}, []string{"1 2 3 host.example.net."}},
		{"NAPTR", []string{`1 2 U E2U+sip "!^.*$!sip:\"a\"@b!" .`}, []string{`1 2 "U" "E2U+sip" "!^.*$!sip:\"a\"@b!" .`}},
		{"TXT", []string{`plain text`}, []string{`"plain text"`}},
		{"TXT", []string{`back\slash and "quotes"`}, []string{`"back\\slash and \"quotes\""`}},
		{"TXT", []string{`"bücher"`}, []string{`"b\195\188cher"`}},
		{"TXT", []string{`"\098\t"`}, []string{`"bt"`}},
		{"TXT", []string{`""`}, []string{`""`}},
		{"TXT", []string{``}, []string{`""`}},
		{"TXT", []string{`"one" "two"`}, []string{`"one" "two"`}},
		{"TXT", []string{`"` + long[:255] + `" "` + long[255:] + `"`}, []string{`"` + long + `"`}},
		{"TXT", []string{`"` + long + `" ""`}, []string{`"` + long[:255] + `" "` + long[255:] + `" ""`}},
	} {
		r := &dns.RecordSet{Name: "X.Example.test.", Type: test.recordType, Targets: test.targets, SetIdentifier: "id", Properties: []dns.Property{{Name: "alias"}}}
		got, err := adjusted(r, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(got.Targets, "\n") != strings.Join(test.want, "\n") {
			t.Errorf("%s %q: got %q, want %q", test.recordType, test.targets, got.Targets, test.want)
		}
		if got.Name != "x.example.test" || got.SetIdentifier != "" || got.Properties != nil {
			t.Errorf("got %+v", got)
		}
	}
}

func TestAdjustedTTL(t *testing.T) {
	for _, test := range []struct{ ttl, minimum, want int64 }{{0, 0, 0}, {-1, 0, 0}, {60, 0, 60}, {60, 300, 300}, {0, 300, 300}, {600, 300, 600}} {
		r := record("www", "A", "192.0.2.1")
		r.TTL = test.ttl
		if got, err := adjusted(r, test.minimum); err != nil || got.TTL != test.want {
			t.Errorf("%+v: got %v, %v", test, got, err)
		}
	}
}

// A record set that can't be made is refused, with what the user wrote.
func TestAdjustedImpossible(t *testing.T) {
	r := record("www", "A", "not-an-address")
	if got, err := adjusted(r, 300); got != nil || !errors.Is(err, provider.ErrRejected) || !strings.Contains(err.Error(), "not-an-address") {
		t.Errorf("got %v, %v", got, err)
	}
}

// For any accepted target, its form in the zone stands for the same record, before and after
// it is sent.
func FuzzTarget(f *testing.F) {
	for _, seed := range []struct{ recordType, target string }{
		{"A", "192.0.2.1"},
		{"AAAA", "2001:db8::1"},
		{"CNAME", "lb.example.net."},
		{"CNAME", `a\.b\032c.example`},
		{"MX", "10 mail.example.net"},
		{"SRV", "1 2 3 host."},
		{"TXT", `"a" "b\"\\\200"`},
		{"TXT", "unquoted \\"},
		{"NAPTR", `1 2 "U" "E2U+sip" "!^.*$!\\1!" _sip._udp.x.`},
		{"NS", "bücher.example"},
	} {
		f.Add(seed.recordType, seed.target)
	}
	f.Fuzz(func(t *testing.T, recordType, target string) {
		if _, known := rrTypes[recordType]; !known {
			return
		}
		rr, err := newRR(header(recordType), target)
		if err != nil {
			return
		}
		listed, err := targetOf(rr)
		if err != nil {
			t.Fatalf("%s %q can't be listed: %v", recordType, target, err)
		}
		if bytes.ContainsFunc([]byte(listed), func(r rune) bool { return r > 0x7e || r < ' ' }) {
			t.Fatalf("%s %q is listed as %q", recordType, target, listed)
		}
		again, err := newRR(header(recordType), listed)
		if err != nil {
			t.Fatalf("%s %q is listed as %q, which isn't accepted: %v", recordType, target, listed, err)
		}
		if a, b := wire(t, rr), wire(t, again); !bytes.Equal(a, b) {
			t.Fatalf("%s %q is listed as %q, which is another record", recordType, target, listed)
		}
	})
}

// whole has complete RDATA.
var whole = map[string]string{
	"A": "\xc0\x00\x02\x01", "CNAME": "\x02Lb\x07ex mple\x00", "TXT": "\x01a\x02b\xff", "MX": "\x00\x0a\x00", "SRV": "\x00\x01\x00\x02\x00\x03\x01.\x00",
	"NAPTR": "\x00\x01\x00\x02\x01U\x00\x03\"\\\x00\x00", "AAAA": "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x01\x02\x03\x04",
}

func TestCutShort(t *testing.T) {
	for recordType, rdata := range whole {
		for size := 1; size <= len(rdata); size++ {
			h := header(recordType)
			h.Rdlength = uint16(size)
			rr, _, err := mdns.UnpackRRWithHeader(h, []byte(rdata[:size]), 0)
			if err != nil {
				continue
			}
			_, err = targetOf(rr)
			// A text of fewer strings is a text.
			if short := size < len(rdata) && recordType != "TXT"; errors.Is(err, errShort) != short {
				t.Errorf("%s %x: %v", recordType, rdata[:size], err)
			}
		}
	}
}

// The target of any record in a zone stands for exactly that record, so that it can be
// deleted.
func FuzzListed(f *testing.F) {
	for recordType, rdata := range whole {
		f.Add(rrTypes[recordType], []byte(rdata))
	}
	f.Fuzz(func(t *testing.T, rrtype uint16, rdata []byte) {
		name := mdns.TypeToString[rrtype]
		if _, known := rrTypes[name]; !known || len(rdata) > 60_000 {
			return
		}
		h := header(name)
		h.Rdlength = uint16(len(rdata))
		rr, _, err := mdns.UnpackRRWithHeader(h, rdata, 0)
		if err != nil || len(rdata) == 0 {
			return
		}
		listed, err := targetOf(rr)
		if errors.Is(err, errShort) {
			return
		}
		if err != nil {
			t.Fatalf("%s %x can't be listed: %v", name, rdata, err)
		}
		again, err := newRR(header(name), listed)
		if err != nil {
			t.Fatalf("%s %x is listed as %q, which isn't accepted: %v", name, rdata, listed, err)
		}
		if a, b := wire(t, rr), wire(t, again); !bytes.Equal(a, b) {
			t.Fatalf("%s %x is listed as %q, which is another record:\n%x\n%x", name, rdata, listed, a, b)
		}
	})
}

// wire returns a record without its header.
func wire(t *testing.T, rr mdns.RR) []byte {
	t.Helper()
	packed := make([]byte, 1<<17)
	end, err := mdns.PackRR(rr, packed, 0, nil, false)
	if err != nil {
		t.Fatalf("%v can't be packed: %v", rr, err)
	}
	return packed[end-int(rr.Header().Rdlength) : end]
}

func FuzzOwnerName(f *testing.F) {
	for _, seed := range []string{"www.example.test", "*.Example.test.", `a\.b.test`, "bücher.test", "", ".", "a..b", strings.Repeat("a.", 127)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		full, err := ownerName(name)
		if err != nil {
			return
		}
		again, err := ownerName(full)
		if err != nil || again != full {
			t.Fatalf("%q became %q, which becomes %q (%v)", name, full, again, err)
		}
		if strings.ContainsFunc(full, func(r rune) bool { return r > 0x7e || r < ' ' }) {
			t.Fatalf("%q became %q", name, full)
		}
	})
}
