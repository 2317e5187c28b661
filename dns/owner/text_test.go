package owner

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
)

func TestFormatText(t *testing.T) {
	for _, test := range []struct {
		name   string
		labels map[string]string
		want   string
	}{
		{
			"case 46: labels in order",
			map[string]string{"resource": "foo-resource", "owner": "foo-owner"},
			"heritage=external-dns,external-dns/owner=foo-owner,external-dns/resource=foo-resource",
		},
		{"none", nil, "heritage=external-dns"},
		{
			"in memory only",
			map[string]string{"owner": "o", dns.LabelOwnedRecord: "www.z.org", "txt-encryption-nonce": "bm9uY2U="},
			"heritage=external-dns,external-dns/owner=o",
		},
		{
			"tenants S6: would be read as another owner after escapes",
			map[string]string{"owner": "o", "z": `x\044external-dns/owner=p`, "tail": `x\`, "bell": "\a", "ü": "x"},
			"heritage=external-dns,external-dns/owner=o",
		},
		{
			"would be read as another owner",
			map[string]string{"owner": "o", "resource": "x,external-dns/owner=p", "a,b": "c", "d=e": "f", `q"`: "g"},
			"heritage=external-dns,external-dns/owner=o",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := FormatText(test.labels); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got, want := quote(FormatText(test.labels)), `"`+test.want+`"`; got != want {
				t.Errorf("quoted: got %s, want %s", got, want)
			}
		})
	}
}

func TestParseText(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       map[string]string // nil for ErrHeritage
	}{
		{"plain", "heritage=external-dns,external-dns/owner=o,external-dns/resource=r", map[string]string{"owner": "o", "resource": "r"}},
		{"quoted", `"heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/nginx"`, map[string]string{"owner": "default", "resource": "service/default/nginx"}},
		{
			"case 47: other tokens", "foo,,external-dns/owner=o,bar=baz,,heritage=external-dns,x,external-dns/resource=r,",
			map[string]string{"owner": "o", "resource": "r"},
		},
		{"case 48: no heritage", "external-dns/owner=o", nil},
		{"case 49: another heritage", "heritage=mate,external-dns/owner=o", nil},
		{"case 50: two heritages", "heritage=mate,heritage=external-dns,external-dns/owner=o", nil},
		{"case 50: the other way round", "heritage=external-dns,external-dns/owner=o,heritage=mate", nil},
		{"case 51: equals sign in a value", "heritage=external-dns,external-dns/owner=o:foo=bar", map[string]string{"owner": "o:foo=bar"}},
		{"several strings", `"heritage=external-dns,exter" "nal-dns/owner=o"`, map[string]string{"owner": "o"}},
		{"heritage as a value", "note=heritage=external-dns,external-dns/owner=o", nil},
		{"empty", "", nil},
		{"nothing else", "heritage=external-dns", map[string]string{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseText(test.text)
			if (test.want == nil) != errors.Is(err, ErrHeritage) {
				t.Fatalf("got error %v for %q", err, test.text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

// A text that was written is read as it was.
func TestTextRoundTrip(t *testing.T) {
	word := rapid.StringMatching(`[a-z0-9/=:._-]{0,30}`)
	rapid.Check(t, func(t *rapid.T) {
		labels := map[string]string{"owner": word.Draw(t, "owner"), "resource": word.Draw(t, "resource"), "note": word.Draw(t, "note")}
		got, err := ParseText(quote(FormatText(labels)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(labels, got); diff != "" {
			t.Fatalf("labels (-want +got):\n%s", diff)
		}
	})
}

// Whatever the labels are, each of them is read back as it was or not at all, in the form in which servers
// present a text: in strings of 255 octets, with escapes (RFC 1035, 3.3.14 and 5.1). A value with \044 in it
// was a comma after that, and so began another owner (tenants S6).
func TestTextIsReadOneWay(t *testing.T) {
	value := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-z,"\\=/ ]|\\044external-dns/owner=x){0,300}`), rapid.StringMatching(`.{250,260}`))
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.MapOf(rapid.OneOf(rapid.SampledFrom([]string{"z", "resource", "a b", "", "x=y"}), value), value).Draw(t, "labels")
		labels[dns.LabelOwner] = "me"
		var presented []string
		for _, part := range dns.SplitString(FormatText(labels)) {
			presented = append(presented, dns.QuoteString(part))
		}
		got, err := ParseText(strings.Join(presented, " "))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for key, value := range labels {
			if dns.CheckLabel(key, value) == nil && !transient(key) {
				want[key] = value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("labels (-want +got):\n%s", diff)
		}
	})
}

func FuzzParseText(f *testing.F) {
	for _, text := range []string{
		`"heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/nginx"`,
		"heritage=mate,heritage=external-dns", `"heritage=external-dns" ",external-dns/owner=o"`, "heritage=external-dns,external-dns/=,=,==",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		labels, err := ParseText(text)
		if err != nil {
			if !errors.Is(err, ErrHeritage) || labels != nil {
				t.Fatalf("got labels %v and error %v", labels, err)
			}
			return
		}
		if !strings.Contains(text, "heritage=external-dns") {
			t.Fatalf("%q was taken for an ownership text", text)
		}
		// A text that can be written again means the same.
		again, err := ParseText(FormatText(labels))
		if err != nil {
			t.Fatal(err)
		}
		if owner := labels[dns.LabelOwner]; !ambiguous(owner) && again[dns.LabelOwner] != owner {
			t.Errorf("the owner %q became %q", owner, again[dns.LabelOwner])
		}
	})
}
