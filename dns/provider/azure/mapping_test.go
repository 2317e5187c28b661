package azure

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

// How texts are sent, and how these are listed (spec/clouds.md §4.3).
func TestTexts(t *testing.T) {
	long := strings.Repeat("x", 280)
	accents := strings.Repeat("é", 200)
	heritage := `"heritage=external-dns,external-dns/owner=me"`
	for name, test := range map[string]struct {
		target string
		sent   []string
		listed string
	}{
		"plain":             {"v=1 x", []string{"v=1 x"}, `"v=1 x"`},
		"quoted":            {`"v=1 x"`, []string{"v=1 x"}, `"v=1 x"`},
		"several strings":   {`"a" "b"`, []string{"a", "b"}, `"a" "b"`},
		"quotes in quotes":  {`"say \"hi\" \\o/"`, []string{`say "hi" \o/`}, `"say \"hi\" \\o/"`},
		"half quoted":       {`"a" b`, []string{`"a" b`}, `"\"a\" b"`},
		"long":              {long, []string{long[:255], long[255:]}, `"` + long + `"`},
		"full":              {`"` + long[:255] + `" "y"`, []string{long[:255], "y"}, `"` + long[:255] + `y"`},
		"not ASCII":         {accents, []string{accents[:254], accents[254:]}, dns.QuoteString(accents)},
		"escaped not ASCII": {`"\195\169"`, []string{"é"}, `"\195\169"`},
		"empty":             {`""`, []string{""}, `""`},
		"ownership":         {heritage, []string{heritage}, heritage},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := wireText(&dns.RecordSet{Type: "TXT"}, test.target)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.sent, v.strings); diff != "" {
				t.Errorf("sent (-want +got)\n%s", diff)
			}
			for _, part := range v.strings {
				if len(part) > dns.MaxString || !utf8.ValidString(part) {
					t.Errorf("the string %q can't be sent", part)
				}
			}
			if got := listedText(v.strings); got != test.listed {
				t.Errorf("listed %s, want %s", got, test.listed)
			}
			again, err := wireText(&dns.RecordSet{Type: "TXT"}, test.listed)
			if err != nil || listedText(again.strings) != test.listed {
				t.Errorf("what is listed becomes %q, %v", again.strings, err)
			}
		})
	}
	for _, bad := range []string{`"\255"`, strings.Repeat("x", maxText+1)} {
		if v, err := wireText(&dns.RecordSet{Type: "TXT"}, bad); err == nil {
			t.Errorf("%.20s… is sent as %q", bad, v.strings)
		}
	}
	sealed := &dns.RecordSet{Type: "TXT", Labels: map[string]string{dns.LabelOwnedRecord: "www.shop.test"}}
	if v, err := wireText(sealed, `"c2VhbGVk"`); err != nil || v.strings[0] != `"c2VhbGVk"` {
		t.Errorf("an encrypted ownership record is sent as %q, %v", v.strings, err)
	}
}

// A text of somebody else in an ownership record of ours stays as it is stored, with or without quotes.
func TestOtherTextInOwnershipRecord(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Settle(2, set("a.shop.test", "A", "192.0.2.1"))
		ownership := *w.server.Get(zoneName, "a-a", "TXT")
		for _, text := range []string{"theirs", `"theirs too"`} {
			ownership.TXT = append(ownership.TXT[:len(ownership.TXT):len(ownership.TXT)], ownership.TXT[0])
			ownership.TXT[len(ownership.TXT)-1].Strings = []string{text}
		}
		w.server.Set(zoneName, ownership)
		other := set("a.shop.test", "A", "192.0.2.1")
		other.Labels[dns.LabelResource] = "service/default/other"
		w.Settle(2, set("a.shop.test", "A", "192.0.2.1", "azure/tags=a=b"))
		got := w.server.Get(zoneName, "a-a", "TXT").Texts()
		if len(got) != 3 || !strings.Contains(strings.Join(got, "|"), `theirs|"theirs too"`) {
			t.Errorf("the ownership record has %q", got)
		}
	})
}

// Record sets that Azure can't have are refused before anything is sent, each with its reason.
func TestRefusals(t *testing.T) {
	m := mapping{Zone: dns.Zone{Name: zoneName}, types: publicTypes}
	late := set("a.shop.test", "A", "192.0.2.1")
	late.TTL = maxTTL + 1
	for want, r := range map[string]*dns.RecordSet{
		"no records of the type NAPTR":    set("a.shop.test", "NAPTR", `100 10 "U" "E2U+sip" "!^.*$!sip:info@example.net!" .`),
		"is not in the zone":              set("a.other.test", "A", "192.0.2.1"),
		"can't be at the apex":            set("shop.test", "CNAME", "lb.example.net"),
		"Azure's own":                     set("shop.test", "NS", "ns1.example.net"),
		"a wildcard can't have NS":        set("*.shop.test", "NS", "ns1.example.net"),
		"--txt-wildcard-replacement":      set("a-*.shop.test", "TXT", "x"),
		"names have letters":              set("a#b.shop.test", "A", "192.0.2.1"),
		"not '/'":                         set("a/b.shop.test", "A", "192.0.2.1"),
		"not an IPv4 address":             set("a.shop.test", "A", "lb.example.net", "alias=true"),
		"the TTL is":                      late,
		"a CNAME has one":                 set("a.shop.test", "CNAME", "a.example.net,b.example.net"),
		"the property azure/x is unknown": set("a.shop.test", "A", "192.0.2.1", "azure/x=1"),
	} {
		if got, err := m.adjusted(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s: %v, %v; want %s", r.Name, r.Type, got, err, want)
		}
	}
}
