package owner

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

// Which owner record sets have. "case 60" (an error of the provider) belongs to the publisher, which only
// asks about zones that it has read. tenants S14: a server presents a text in one form, whatever form it was
// written in. A text that is an ownership text after that is one before, so that a plan doesn't promise what
// is refused when it is made.
func TestForges(t *testing.T) {
	o, err := NewTXT(TXTOptions{OwnerID: "me"})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{
		`"heritage=external-dns,external-dns/owner=x"`:      true,
		`heritage=external-dns`:                             true,
		`"h\eritage=external-dns,external-dns/owner=x"`:     true,
		`h\eritage=external-dns`:                            true,
		`"herit\097ge=external-dns"`:                        true,
		`"heritage=exter" "nal-dns,external-dns/owner=x"`:   true,
		`"heritage=exter"   "nal-dns,external-dns/owner=x"`: true,
		`heritage=external-dns\044external-dns/owner=x`:     true,
		`"v=spf1 -all"`:                  false,
		`"note=heritage\=external-dns2"`: false,
		`"broken`:                        false,
		`"a\999"`:                        false,
	} {
		if got := o.Forges(&dns.RecordSet{Name: "www.z.org", Type: dns.TypeTXT, Targets: []string{target}}); got != want {
			t.Errorf("%s: got %t", target, got)
		}
	}
}

// Two names lead to one ownership record where wildcards have a replacement (dns F1).
func TestTwin(t *testing.T) {
	o, err := NewTXT(TXTOptions{OwnerID: "me", WildcardReplacement: "any"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"*.foo.z.org": "any.foo.z.org", "any.foo.z.org": "*.foo.z.org", "any2.z.org": "", "www.any.z.org": "", "z.org": ""} {
		if got := o.Twin(name); got != want || want != "" && o.OwnershipRecordName(name, "A") != o.OwnershipRecordName(want, "A") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	plain, err := NewTXT(TXTOptions{OwnerID: "me"})
	if err != nil {
		t.Fatal(err)
	}
	if twin := plain.Twin("*.foo.z.org"); twin != "" {
		t.Errorf("without a replacement, got %q", twin)
	}
}

func TestLabels(t *testing.T) {
	for _, test := range []struct {
		name    string
		options TXTOptions
		zone    []string
		want    []string
	}{
		{
			"case 61: with a prefix",
			TXTOptions{Prefix: "txt."},
			[]string{"bar.z.org CNAME x.y", "txt.bar.z.org TXT @owner/svc", "txt.bar.z.org CNAME y.z", "qux.z.org TXT random"},
			[]string{"bar.z.org CNAME @owner/svc", "qux.z.org TXT", "txt.bar.z.org CNAME"},
		},
		{
			"case 61: today's format",
			TXTOptions{Prefix: "txt."},
			[]string{"bar.z.org CNAME x.y", "txt.cname-bar.z.org TXT @me/svc"},
			[]string{"bar.z.org CNAME @me/svc"},
		},
		{
			"case 62: letter case of the prefix",
			TXTOptions{Prefix: "txt."},
			[]string{"tar.z.org CNAME x.y", "TxT.tar.z.org TXT @owner-2"},
			[]string{"tar.z.org CNAME @owner-2"},
		},
		{
			"case 63: without the prefix",
			TXTOptions{Prefix: "txt."},
			[]string{"foobar.z.org CNAME x.y", "foobar.z.org TXT @owner"},
			[]string{"foobar.z.org CNAME"},
		},
		{
			"case 64: set identifiers",
			TXTOptions{},
			[]string{
				"www.z.org CNAME x.y set=one", "www.z.org CNAME y.z set=two", "www.z.org CNAME z.z set=three",
				"cname-www.z.org TXT @me set=one", "cname-www.z.org TXT @owner set=two",
			},
			[]string{"www.z.org CNAME set=one @me", "www.z.org CNAME set=three", "www.z.org CNAME set=two @owner"},
		},
		{
			"case 65: wildcard",
			TXTOptions{Prefix: "txt.", WildcardReplacement: "wc"},
			[]string{"*.wildcard.z.org CNAME x.y", "txt.wc.wildcard.z.org TXT @owner", "*.other.z.org CNAME x.y", "txt.cname-wc.other.z.org TXT @me"},
			[]string{"*.other.z.org CNAME @me", "*.wildcard.z.org CNAME @owner"},
		},
		{
			"case 66: AAAA has no ownership record that doesn't tell it",
			TXTOptions{},
			[]string{
				"old.z.org A 1.1.1.1", "old.z.org AAAA ::1", "old.z.org TXT @owner",
				"dual.z.org A 1.1.1.1", "dual.z.org AAAA ::1", "dual.z.org TXT @owner", "aaaa-dual.z.org TXT @owner-2",
			},
			[]string{"dual.z.org A @owner", "dual.z.org AAAA @owner-2", "old.z.org A @owner", "old.z.org AAAA"},
		},
		{
			"case 67: other types",
			TXTOptions{},
			[]string{
				"mail.z.org MX 10|mx", "mx-mail.z.org TXT @owner", "s.z.org SRV 0", "s.z.org TXT @owner-2", "n.z.org NAPTR 0", "n.z.org TXT @owner-3",
			},
			[]string{"mail.z.org MX @owner", "n.z.org NAPTR @owner-3", "s.z.org SRV @owner-2"},
		},
		{
			"case 68: templated prefix",
			TXTOptions{Prefix: "%{record_type}-abc-."},
			[]string{
				"z.org A 1.1.1.1", "a-abc-.z.org TXT @me", "www.z.org CNAME x.y", "-abc-.www.z.org TXT @owner", "v.z.org CNAME x.y", "-abc-.cname-v.z.org TXT @owner-2",
			},
			[]string{"v.z.org CNAME @owner-2", "www.z.org CNAME @owner", "z.org A @me"},
		},
		{
			"case 68: templated suffix",
			TXTOptions{Suffix: "-%{record_type}"},
			[]string{"www.z.org A 1.1.1.1", "www-a.z.org TXT @me", "www.z.org AAAA ::1", "www-aaaa.z.org TXT @owner"},
			[]string{"www.z.org A @me", "www.z.org AAAA @owner"},
		},
		{
			"case 70: nothing in the ownership record",
			TXTOptions{},
			[]string{"www.z.org A 1.1.1.1", "a-www.z.org TXT -", "v.z.org A 1.1.1.1", "a-v.z.org TXT @me"},
			[]string{"v.z.org A @me", "www.z.org A"},
		},
		{
			"several texts (#2762)",
			TXTOptions{},
			[]string{
				"a.z.org A 1.1.1.1", `a-a.z.org TXT v=spf1|"heritage=mate"|@me/svc`, "b.z.org A 1.1.1.1", "a-b.z.org TXT @a/x|@me/svc", "c.z.org A 1.1.1.1", "a-c.z.org TXT @b|@a",
			},
			[]string{"a.z.org A @me/svc", "b.z.org A @me/svc", "c.z.org A @a"},
		},
		{
			"case 78: to be rewritten",
			TXTOptions{},
			[]string{
				"ours.z.org A 1.1.1.1", "ours.z.org TXT @me/svc", "theirs.z.org A 1.1.1.1", "theirs.z.org TXT @owner", "nobodys.z.org A 1.1.1.1",
				"mail.z.org MX mx", "mail.z.org TXT @me", "whole.z.org A 1.1.1.1", "whole.z.org TXT @me", "a-whole.z.org TXT @me",
			},
			[]string{"mail.z.org MX @me", "nobodys.z.org A", "ours.z.org A @me/svc rewrite", "theirs.z.org A @owner", "whole.z.org A @me"},
		},
		{
			"case 78: a zone without ownership records",
			TXTOptions{},
			[]string{"www.z.org A 1.1.1.1 own=me"},
			[]string{"www.z.org A"},
		},
		{
			"nothing to rewrite where there can't be an ownership record",
			TXTOptions{},
			[]string{strings.Repeat("x", 62) + ".z.org A 1.1.1.1", strings.Repeat("x", 62) + ".z.org TXT @me"},
			[]string{strings.Repeat("x", 62) + ".z.org A @me"},
		},
		{
			"two texts of ours are rewritten (spec/dns.md §17)",
			TXTOptions{OldOwnerID: "old"},
			[]string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me|@old", "b.z.org A 1.1.1.1", "a-b.z.org TXT @me/b|@me/a", "c.z.org A 1.1.1.1", "a-c.z.org TXT @me|@owner"},
			[]string{"a.z.org A @me rewrite", "b.z.org A @me/a rewrite", "c.z.org A @me"},
		},
		{
			"case 84: alias",
			TXTOptions{},
			[]string{
				"new.z.org A x.y alias=true", "cname-new.z.org TXT @me", "both.z.org A x.y alias=true", "cname-both.z.org TXT @owner", "a-both.z.org TXT @me",
				"a.z.org A x.y alias=A", "cname-a.z.org TXT @owner", "no.z.org A 1.1.1.1 alias=false", "cname-no.z.org TXT @me",
			},
			[]string{"a.z.org A @owner", "both.z.org A @me", "new.z.org A @me rewrite", "no.z.org A"},
		},
		{
			"case 87: the old owner's become ours when they are updated",
			TXTOptions{OldOwnerID: "old"},
			[]string{"www.z.org A 1.1.1.1", "a-www.z.org TXT @old/svc"},
			[]string{"www.z.org A @old/svc"},
		},
		{
			"capital letters (spec/dns.md §17)",
			TXTOptions{},
			[]string{"WWW.Z.org A 1.1.1.1", "A-www.z.ORG TXT @me"},
			[]string{"www.z.org A @me"},
		},
		{
			"internationalised",
			TXTOptions{},
			[]string{"bücher.z.org A 1.1.1.1", "a-xn--bcher-kva.z.org TXT @me"},
			[]string{"xn--bcher-kva.z.org A @me"},
		},
		{
			"the text of another type isn't that of a name that begins like it",
			TXTOptions{},
			[]string{"a-www.z.org CNAME x.y", "www.z.org A 1.1.1.1", "a-www.z.org TXT @me"},
			[]string{"a-www.z.org CNAME", "www.z.org A @me"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, labelled(newTXT(t, test.options), newZoneRecords(t, test.zone...))); diff != "" {
				t.Errorf("record sets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMark(t *testing.T) {
	for _, test := range []struct {
		name      string
		options   TXTOptions
		record    string
		want      []string
		ownership bool
	}{
		{"today's format", TXTOptions{}, "A-WWW.z.org TXT @me", []string{"www.z.org"}, true},
		{"historic format", TXTOptions{}, "www.z.org TXT @owner", []string{"www.z.org"}, true},
		{"after another text", TXTOptions{}, "a-www.z.org TXT random|@me", []string{"www.z.org"}, true},
		{"without the prefix", TXTOptions{Prefix: "txt."}, "www.z.org TXT @me", nil, true},
		{"case 70: no targets", TXTOptions{}, "a-www.z.org TXT -", []string{"www.z.org"}, true},
		{"another text", TXTOptions{}, "a-www.z.org TXT random", nil, false},
		{"another type", TXTOptions{}, "a-www.z.org CNAME x.y", nil, false},
		{"wildcard", TXTOptions{WildcardReplacement: "any"}, "a-any.z.org TXT @me", []string{"any.z.org", "*.z.org"}, true},
		{"two types, one name", TXTOptions{Prefix: "%{record_type}", Suffix: ""}, "aaaaa.z.org TXT @me", []string{"aaaa.z.org", "a.z.org"}, true},
		{"encrypted, with another key", TXTOptions{}, "a-www.z.org TXT " + knownSealed, nil, false},
		{"encrypted", TXTOptions{AESKey: knownKey}, "a-www.z.org TXT " + quote(knownSealed), []string{"www.z.org"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, ownership := newTXT(t, test.options).OwnershipRecord(record(t, test.record))
			if ownership != test.ownership || !slices.Equal(got, test.want) {
				t.Errorf("got %v %v, want %v %v", got, ownership, test.want, test.ownership)
			}
		})
	}
}

func TestNewTXT(t *testing.T) {
	key := strings.Repeat("k", 32)
	for _, test := range []struct {
		name    string
		options TXTOptions
		want    string
	}{
		{"case 59: no owner", TXTOptions{}, "owner ID"},
		{"an owner that can't be read back", TXTOptions{OwnerID: "a,b"}, "owner ID"},
		{"case 59: prefix and suffix", TXTOptions{OwnerID: "me", Prefix: "a.", Suffix: "-b"}, "only one"},
		{"case 59: key", TXTOptions{OwnerID: "me", AESKey: key}, ""},
		{"case 59: key in base64", TXTOptions{OwnerID: "me", EncryptEnabled: true, AESKey: base64.StdEncoding.EncodeToString([]byte(key))}, ""},
		{"case 59: short key", TXTOptions{OwnerID: "me", AESKey: key[1:]}, "AES key"},
		{"case 59: encryption without a key", TXTOptions{OwnerID: "me", EncryptEnabled: true}, "without a key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, err := NewTXT(test.options)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got error %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, error %v; want one with %q", o, err, test.want)
			}
		})
	}
}

func TestOrphan(t *testing.T) {
	o := newTXT(t, TXTOptions{OldOwnerID: "old"})
	zone := newZoneRecords(t, "www.z.org A 1.1.1.1", "ali.z.org A x.y alias=true", "cname-ali.z.org TXT @me", "w.z.org A 1.1.1.1 set=b", "aaaa-x.z.org CNAME x.y")
	for ownership, want := range map[string]bool{
		"a-gone.z.org TXT @me":         true,
		"a-gone.z.org TXT @me/a|@me/b": true,
		"a-gone.z.org TXT @owner":      false,
		"a-gone.z.org TXT @old":        false,
		"a-gone.z.org TXT @me|random":  false,
		"a-gone.z.org TXT -":           false,
		"gone.z.org TXT @me":           false,
		"aaaa-x.z.org TXT @me":         false,
		"a-www.z.org TXT @me":          false,
		"aaaa-www.z.org TXT @me":       true,
		"cname-ali.z.org TXT @me":      false,
		"a-w.z.org TXT @me set=a":      true,
		"a-w.z.org TXT @me set=b":      false,
		"www.z.org A 1.1.1.1":          false,
	} {
		w := zoneRecords{}
		for name, sets := range zone {
			w[name] = slices.Clone(sets)
		}
		r := record(t, ownership)
		if name := dns.Canonical(r.Name); w[name] == nil {
			w.put(r)
		}
		if got := o.Orphan(w.lookup, r); got != want {
			t.Errorf("%s: got %v, want %v", ownership, got, want)
		}
	}
}

// With a template, the historic formats don't matter.
func TestOrphanTemplated(t *testing.T) {
	o := newTXT(t, TXTOptions{Prefix: "%{record_type}-x-."})
	for ownership, want := range map[string]bool{"a-x-.www.z.org TXT @me": true, "-x-.www.z.org TXT @me": false, "-x-.a-www.z.org TXT @me": false, "www.z.org TXT @me": false} {
		if got := o.Orphan(zoneRecords{}.lookup, record(t, ownership)); got != want {
			t.Errorf("%s: got %v, want %v", ownership, got, want)
		}
	}
}

// "case 85": a text with another key is ignored. The record sets aren't ours, and stay as they
// are. With encryption, plain texts are still read.
func TestEncryptedZone(t *testing.T) {
	seal := newTestSealer(t, knownKey)
	sealed, err := seal.seal(FormatText(map[string]string{"owner": "me", "resource": "svc"}), bytes.Repeat([]byte{1}, nonceSize))
	if err != nil {
		t.Fatal(err)
	}
	half := len(sealed) / 2
	w := newZoneRecords(t, "a.z.org A 1.1.1.1", "a-a.z.org TXT "+sealed, "b.z.org A 1.1.1.1", "a-b.z.org TXT "+quote(sealed), "c.z.org A 1.1.1.1", "a-c.z.org TXT @me/svc", "d.z.org A 1.1.1.1")
	w.put(&dns.RecordSet{Name: "a-d.z.org", Type: dns.TypeTXT, Targets: []string{quote(sealed[:half] + `" "` + sealed[half:])}})
	for name, test := range map[string]struct {
		key  string
		want []string
	}{
		"its key":     {knownKey, []string{"a.z.org A @me/svc", "b.z.org A @me/svc", "c.z.org A @me/svc", "d.z.org A @me/svc"}},
		"another key": {strings.Repeat("k", 32), []string{"a-a.z.org TXT", "a-b.z.org TXT", "a-d.z.org TXT", "a.z.org A", "b.z.org A", "c.z.org A @me/svc", "d.z.org A"}},
		"no key":      {"", []string{"a-a.z.org TXT", "a-b.z.org TXT", "a-d.z.org TXT", "a.z.org A", "b.z.org A", "c.z.org A @me/svc", "d.z.org A"}},
	} {
		if diff := cmp.Diff(test.want, labelled(newTXT(t, TXTOptions{AESKey: test.key}), w)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// The usual record set costs the name of its ownership record and its labels.
func TestLabelsAllocates(t *testing.T) {
	o := newTXT(t, TXTOptions{})
	w := newZoneRecords(t, "www.z.org A 1.1.1.1", "a-www.z.org TXT @me/service/default/www")
	r := w["www.z.org"][0]
	if n := testing.AllocsPerRun(100, func() { o.Labels(w.lookup, r) }); n > 5 {
		t.Errorf("got %v allocations", n)
	}
}
