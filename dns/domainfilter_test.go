package dns_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
)

func TestDomainFilter(t *testing.T) {
	type config = dns.DomainFilterConfig
	tests := map[string]struct {
		config  config
		yes, no string
		json    string
	}{
		"case 96: three domains": {
			config: config{Include: []string{"google.com.", "exaring.de", "inovex.de"}},
			yes:    "google.com exaring.de inovex.de", no: "com de example.org",
			json: `{"include":["exaring.de","google.com","inovex.de"]}`,
		},
		"case 97: spaces after":  {config: config{Include: []string{"foo.org.      "}}, yes: "foo.org", no: "org", json: `{"include":["foo.org"]}`},
		"case 97: spaces before": {config: config{Include: []string{"   foo.org"}}, yes: "foo.org", no: "org", json: `{"include":["foo.org"]}`},
		"case 98: a domain below": {
			config: config{Include: []string{"baz.foo.org"}}, yes: "baz.foo.org", no: "foo.org", json: `{"include":["baz.foo.org"]}`,
		},
		"case 99: empty":  {config: config{Include: []string{""}}, yes: "foo.org x", json: `{}`},
		"case 99: blank":  {config: config{Include: []string{" "}}, yes: "foo.org x", json: `{}`},
		"case 100: empty": {config: config{Include: []string{"", "foo.org"}}, yes: "foo.org", no: "bar.org", json: `{"include":["foo.org"]}`},
		"case 101: below": {
			config: config{Include: []string{"bar.sub.example.org"}}, yes: "foo.bar.sub.example.org FOO.bar.sub.example.org.", no: "sub.example.org",
			json: `{"include":["bar.sub.example.org"]}`,
		},
		"case 102: not a label": {
			config: config{Include: []string{"example.org"}}, yes: "example.org", no: "anexample.org test.anexample.org",
			json: `{"include":["example.org"]}`,
		},
		"case 103: only below": {
			config: config{Include: []string{".example.org"}}, yes: "test.example.org", no: "example.org anexample.org", json: `{"include":[".example.org"]}`,
		},
		"case 104: below a top level": {
			config: config{Include: []string{".org"}}, yes: "example.org test.example.org", no: "org example.com", json: `{"include":[".org"]}`,
		},
		"case 105: exclude": {
			config: config{Include: []string{"example.org"}, Exclude: []string{"api.example.org"}},
			yes:    "test.example.org example.org", no: "api.example.org foo.api.example.org",
			json: `{"include":["example.org"],"exclude":["api.example.org"]}`,
		},
		"case 106: exclude only below": {
			config: config{Exclude: []string{".api.example.org"}}, yes: "api.example.org", no: "foo.api.example.org foo.api.example.org.",
			json: `{"exclude":[".api.example.org"]}`,
		},
		"case 107: internationalised": {
			config: config{Include: []string{"æøå.org", ".xn--bcher-kva.de"}, Exclude: []string{"api.xn--5cab8c.org"}},
			yes:    "ÆØÅ.org xn--5cab8c.org a.xn--5cab8c.org a.bücher.de", no: "api.æøå.org api.xn--5cab8c.org bücher.de",
			json: `{"include":[".bücher.de","æøå.org"],"exclude":["api.æøå.org"]}`,
		},
		"a domain and what is below another": {
			config: config{Include: []string{"a.org", ".a.org", "x.b.org"}}, yes: "a.org b.a.org x.b.org", no: "org b.org", json: `{"include":[".a.org","a.org","x.b.org"]}`,
		},
		"case 108: regular expression before lists": {
			config: config{RegexInclude: `\.org$`, Include: []string{"example.com"}, Exclude: []string{"foo.bar.org"}},
			yes:    "foo.bar.org FOO.bar.ORG.", no: "example.com", json: `{"regexInclude":"\\.org$"}`,
		},
		"case 109: two regular expressions": {
			config: config{RegexInclude: `(?:foo|bar)\.org$`, RegexExclude: `^example\.`},
			yes:    "a.example.foo.org", no: "example.foo.org a.example.com", json: `{"regexInclude":"(?:foo|bar)\\.org$","regexExclude":"^example\\."}`,
		},
		"case 110: only to exclude": {config: config{RegexExclude: `^a`}, yes: "b.org", no: "a.org", json: `{"regexExclude":"^a"}`},
		"case 111: emoji":           {config: config{RegexInclude: `^😺\.org$`}, yes: "xn--138h.org 😺.org", no: "a.org", json: `{"regexInclude":"^😺\\.org$"}`},
		"case 116: with the apex":   {config: config{RegexInclude: `^([\w-]+\.)*example\.com$`}, yes: "example.com a.b.example.com", no: "anexample.com", json: `{"regexInclude":"^([\\w-]+\\.)*example\\.com$"}`},
		"case 116: without it":      {config: config{RegexInclude: `^([\w-]+\.)+example\.com$`}, yes: "a.example.com", no: "example.com", json: `{"regexInclude":"^([\\w-]+\\.)+example\\.com$"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := test.config.Filter()
			wantError(t, err, "")
			if f.Configured() != (test.json != `{}`) {
				t.Errorf("Configured is %v", f.Configured())
			}
			wantMatches(t, f, test.yes, test.no)
			data, err := json.Marshal(f)
			wantError(t, err, "")
			if string(data) != test.json {
				t.Errorf("as JSON it is %s, want %s", data, test.json)
			}
			var read dns.DomainFilter
			wantError(t, json.Unmarshal(data, &read), "")
			wantMatches(t, &read, test.yes, test.no)
		})
	}
}

func wantMatches(t *testing.T, f dns.Filter, yes, no string) {
	t.Helper()
	for name := range strings.FieldsSeq(yes) {
		if !f.Match(name) {
			t.Errorf("%s doesn't match", name)
		}
	}
	for name := range strings.FieldsSeq(no) {
		if f.Match(name) {
			t.Errorf("%s matches", name)
		}
	}
}

func TestNilDomainFilter(t *testing.T) {
	// Case 112.
	var f *dns.DomainFilter
	data, err := f.MarshalJSON()
	wantError(t, err, "")
	if !f.Match("a.org") || f.Configured() || !f.MatchParent("a.org") || string(data) != `{}` {
		t.Errorf("Match %v, Configured %v, MatchParent %v, JSON %s", f.Match("a.org"), f.Configured(), f.MatchParent("a.org"), data)
	}
}

func TestDomainFilterDecode(t *testing.T) {
	tests := map[string]struct{ json, yes, no, err string }{
		"nothing":             {json: `{}`, yes: "a.org"},
		"null":                {json: `null`, yes: "a.org"},
		"the documented form": {json: `{"filters":["a.org"]}`, yes: "b.a.org", no: "b.org"},
		"both forms":          {json: `{"filters":["a.org"],"include":["b.org"]}`, yes: "a.org b.org", no: "c.org"},
		"empty list":          {json: `{"include":[],"regexInclude":"a"}`, yes: "a.org", no: "b.org"},
		"case 113: both":      {json: `{"include":["a.org"],"regexInclude":"a"}`, err: "both list and regex"},
		"both, other list":    {json: `{"exclude":["a.org"],"regexExclude":"a"}`, err: "both list and regex"},
		"both, documented":    {json: `{"filters":["a.org"],"regexExclude":"a"}`, err: "both list and regex"},
		"case 113: include":   {json: `{"regexInclude":"("}`, err: "regexInclude"},
		"case 113: exclude":   {json: `{"regexExclude":"("}`, err: "regexExclude"},
		"case 113: type":      {json: `{"include":"a.org"}`, err: "domain filter: "},
		"case 113: number":    {json: `{"regexInclude":1}`, err: "domain filter: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var f dns.DomainFilter
			wantError(t, json.Unmarshal([]byte(test.json), &f), test.err)
			if test.err == "" {
				wantMatches(t, &f, test.yes, test.no)
			}
		})
	}
}

func TestNewRegexFilter(t *testing.T) {
	_, err := dns.NewRegexFilter("", "(")
	wantError(t, err, `regexExclude "("`)
	f, err := dns.NewRegexFilter("", "")
	wantError(t, err, "")
	if f.Configured() || !f.Match("a.org") {
		t.Error("two empty expressions are a filter")
	}
}

func TestMatchParent(t *testing.T) {
	// Case 115.
	tests := []struct {
		include, exclude, zone string
		want                   bool
	}{
		{include: "a.example.com", zone: "example.com", want: true},
		{include: "a.example.com", zone: "example.com.", want: true},
		{include: "a.example.com", zone: "com", want: true},
		{include: "a.example.com", zone: "b.example.com"},
		{include: "a.example.com", zone: "x.a.example.com"},
		{include: "example.com", zone: "example.com"},
		{include: ".a.example.com", zone: "example.com"},
		{zone: "example.com", want: true},
		{exclude: "example.com", zone: "example.com"},
		{include: "a.example.com", exclude: "example.com", zone: "example.com"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			f := dns.NewDomainFilter([]string{test.include}, []string{test.exclude})
			if got := f.MatchParent(test.zone); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
	f, err := dns.NewRegexFilter("^a$", "")
	wantError(t, err, "")
	if !f.MatchParent("b.org") {
		t.Error("a regular expression counts")
	}
}

func TestMatchAll(t *testing.T) {
	domain := func(names ...string) *dns.DomainFilter { return dns.NewDomainFilter(names, nil) }
	zones := domain("a.myapp.io", "other.io.")
	tests := map[string]struct {
		filters []dns.Filter
		yes, no string
	}{
		"case 114: nil":     {filters: []dns.Filter{nil, domain("example.org")}, yes: "example.org", no: "other.org"},
		"case 114: none":    {yes: "other.org"},
		"nil of a type":     {filters: []dns.Filter{(*dns.DomainFilter)(nil)}, yes: "other.org"},
		"zones only":        {filters: []dns.Filter{nil, zones}, yes: "a.myapp.io x.other.io", no: "myapp.io"},
		"zones and domain":  {filters: []dns.Filter{domain("myapp.io"), zones}, yes: "a.myapp.io x.a.myapp.io", no: "b.myapp.io other.io"},
		"nothing in common": {filters: []dns.Filter{domain("c.org"), zones}, no: "c.org a.myapp.io"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { wantMatches(t, dns.MatchAll(test.filters...), test.yes, test.no) })
	}
}

// The suffix tree matches as the rules of spec/dns.md §2.1 and §2.3 do.
func TestDomainFilterProperty(t *testing.T) {
	label := rapid.SampledFrom([]string{"a", "b", "ab", "org"})
	name := rapid.Map(rapid.SliceOfN(label, 1, 4), func(labels []string) string { return strings.Join(labels, ".") })
	domain := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "."}).Draw(t, "dot") + name.Draw(t, "domain")
	})
	matches := func(domains []string, name string) bool {
		for _, d := range domains {
			if name == d || strings.HasSuffix(name, "."+d) || (d[0] == '.' && strings.HasSuffix(name, d)) {
				return true
			}
		}
		return false
	}
	above := func(domains []string, zone string) bool {
		for _, d := range domains {
			if d[0] != '.' && strings.HasSuffix(d, "."+zone) {
				return true
			}
		}
		return false
	}
	rapid.Check(t, func(t *rapid.T) {
		include, exclude := rapid.SliceOfN(domain, 0, 4).Draw(t, "include"), rapid.SliceOfN(domain, 0, 3).Draw(t, "exclude")
		f, n := dns.NewDomainFilter(include, exclude), name.Draw(t, "name")
		if want := (len(include) == 0 || matches(include, n)) && !matches(exclude, n); f.Match(n) != want {
			t.Fatalf("Match(%q) is %v, want %v", n, f.Match(n), want)
		}
		if want := (len(include) == 0 || above(include, n)) && !matches(exclude, n); f.MatchParent(n) != want {
			t.Fatalf("MatchParent(%q) is %v, want %v", n, f.MatchParent(n), want)
		}
	})
}

func FuzzDomainFilterJSON(f *testing.F) {
	for _, data := range []string{
		`{}`, `{"include":["a.org",".ü.org"],"exclude":["b.a.org"]}`, `{"filters":["a.org"]}`, `{"regexInclude":"a|b","regexExclude":"^c"}`,
	} {
		f.Add([]byte(data), "b.a.org")
	}
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		var filter, again dns.DomainFilter
		if json.Unmarshal(data, &filter) != nil {
			return
		}
		written, err := json.Marshal(&filter)
		wantError(t, err, "")
		wantError(t, json.Unmarshal(written, &again), "")
		if filter.Match(name) != again.Match(name) {
			t.Errorf("%s became %s, and %q matches only one", data, written, name)
		}
	})
}

// zoneNames are the names of zones.
func zoneNames(zones []dns.Zone) []string {
	names := make([]string, len(zones))
	for i, z := range zones {
		names[i] = z.Name
	}
	return names
}

// manyZones are n zones below two others.
func manyZones(n int) []dns.Zone {
	zones := make([]dns.Zone, n)
	for i := range zones {
		zones[i] = dns.Zone{ID: fmt.Sprint(i), Name: fmt.Sprintf("z%d.k8s.example.org", i)}
	}
	return zones
}

const nameInZone = "shop.production.z500.k8s.example.org"

func TestFilterAllocates(t *testing.T) {
	filter, finder := dns.NewDomainFilter(zoneNames(manyZones(1000)), nil), dns.NewZoneFinder(manyZones(1000))
	if n := testing.AllocsPerRun(100, func() { filter.Match(nameInZone); filter.MatchParent(nameInZone); finder.Find(nameInZone) }); n != 0 {
		t.Errorf("allocates %v times", n)
	}
}
