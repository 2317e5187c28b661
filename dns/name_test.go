package dns_test

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
)

func TestCanonical(t *testing.T) {
	tests := map[string]struct{ in, want, unicode string }{
		"as it is":               {in: "www.example.org", want: "www.example.org", unicode: "www.example.org"},
		"dot":                    {in: "www.example.org.", want: "www.example.org", unicode: "www.example.org"},
		"root":                   {in: "."},
		"case 97: spaces after":  {in: "foo.org.      ", want: "foo.org", unicode: "foo.org"},
		"case 97: spaces before": {in: "   foo.org", want: "foo.org", unicode: "foo.org"},
		"upper case":             {in: "WWW.Example.ORG", want: "www.example.org", unicode: "www.example.org"},
		"wildcard, underscore":   {in: "*._tcp.Bücher.example", want: "*._tcp.xn--bcher-kva.example", unicode: "*._tcp.bücher.example"},
		"upper case letters":     {in: "ÆØÅ.org.", want: "xn--5cab8c.org", unicode: "æøå.org"},
		"ASCII form":             {in: "XN--5CAB8C.org", want: "xn--5cab8c.org", unicode: "æøå.org"},
		"decomposed":             {in: "bu\u0308cher.de", want: "xn--bcher-kva.de", unicode: "bücher.de"},
		"ideographic full stop":  {in: "bücher。de。", want: "xn--bcher-kva.de", unicode: "bücher.de"},
		"emoji":                  {in: "😺.org", want: "xn--138h.org", unicode: "😺.org"},
		"transitional":           {in: "straße.de", want: "strasse.de", unicode: "strasse.de"},
		"not transitional":       {in: "xn--strae-oqa.de", want: "xn--strae-oqa.de", unicode: "xn--strae-oqa.de"},
		"no punycode":            {in: "xn--a-\xc3\xa4.B\xc3\xbccher.de", want: "xn--a-ä.xn--bcher-kva.de", unicode: "xn--a-ä.bücher.de"},
		"broken ASCII form":      {in: "xn--ascii-.org", want: "xn--ascii-.org", unicode: "xn--ascii-.org"},
		"hyphens":                {in: "r3---sn-x.bücher.de", want: "r3---sn-x.xn--bcher-kva.de", unicode: "r3---sn-x.bücher.de"},
		"not text":               {in: "\xff.ORG", want: "\xff.org", unicode: "\xff.org"},
		"two dots":               {in: "a..", want: "a..", unicode: "a.."},
		"space before the dot":   {in: "a .", want: "a .", unicode: "a ."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := dns.Canonical(test.in); got != test.want {
				t.Errorf("Canonical(%q) = %q, want %q", test.in, got, test.want)
			}
			if got := dns.Unicode(test.in); got != test.unicode {
				t.Errorf("Unicode(%q) = %q, want %q", test.in, got, test.unicode)
			}
		})
	}
}

func TestCanonicalAllocates(t *testing.T) {
	for _, name := range []string{"a.b.example.org", "a.b.example.org.", " _sip._udp.example.org"} {
		if n := testing.AllocsPerRun(100, func() { dns.Canonical(name) }); n != 0 {
			t.Errorf("Canonical(%q) allocates %v times", name, n)
		}
	}
}

func TestCheckName(t *testing.T) {
	long := strings.Repeat("a", 63)
	tests := map[string]struct{ name, err string }{
		"usual":               {name: "www.example.org"},
		"one label":           {name: "localhost"},
		"wildcard":            {name: "*.example.org"},
		"service":             {name: "_sip._udp.example.org"},
		"RFC 2317":            {name: "0/25.30.20.10.in-addr.arpa"},
		"longest label":       {name: long + ".org"},
		"longest name":        {name: long + "." + long + "." + long + "." + long[:61]},
		"empty":               {name: "", err: "empty"},
		"empty label":         {name: "no..label", err: "a label is empty"},
		"dot first":           {name: ".example.org", err: "a label is empty"},
		"dot last":            {name: "example.org.", err: "a label is empty"},
		"case 119: label":     {name: "a" + long + ".org", err: `is 64 bytes long: a label may have 63`},
		"name":                {name: long + "." + long + "." + long + "." + long[:62], err: "254 bytes long: a name may have 253"},
		"space":               {name: "a b.org", err: `the character ' ' can't be in a name`},
		"list":                {name: "a.org;b.org", err: `the character ';'`},
		"escape":              {name: `\052.org`, err: `the character '\\'`},
		"control":             {name: "a\x00b.org", err: `the character '\x00'`},
		"letters":             {name: "bücher.org", err: `the character 'ü'`},
		"not even characters": {name: "\xff.org", err: "the character '�'"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { wantError(t, dns.CheckName(test.name), test.err) })
	}
}

// wantError fails the test unless err has the text in it. For "" there must be no error.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	switch {
	case text == "" && err != nil:
		t.Errorf("got the error %q, want none", err)
	case text != "" && err == nil:
		t.Errorf("got no error, want one with %q", text)
	case text != "" && !strings.Contains(err.Error(), text):
		t.Errorf("got the error %q, want one with %q", err, text)
	}
}

func TestParentDomain(t *testing.T) {
	// Case 126.
	tests := map[string]string{
		"www.example.com":   "example.com",
		"a.www.example.com": "www.example.com",
		"example.com":       "example.com",
		"com":               "com",
		"":                  "",
	}
	for name, want := range tests {
		if got := dns.ParentDomain(name); got != want {
			t.Errorf("ParentDomain(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, name := range []string{
		"www.example.org.", "*.BÜCHER.de", "xn--bcher-kva.de", "xn--strae-oqa.de", "straße.de", "\u200d.org", "a。b", "..", " . ", "\xff",
		"xn--.org", "0\u05d0.example", "\u2132.org", "\u0345", "\u1e9e.de", "K", "xn--a\u00e4",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		canonical := dns.Canonical(name)
		if dns.CheckName(canonical) != nil {
			return
		}
		if again := dns.Canonical(canonical); again != canonical {
			t.Errorf("Canonical(%q) = %q, of which it is %q", name, canonical, again)
		}
		if dot := dns.Canonical(canonical + "."); dot != canonical {
			t.Errorf("Canonical(%q with a dot) = %q", canonical, dot)
		}
		letters := dns.Unicode(name)
		if back := dns.Canonical(letters); back != canonical {
			t.Errorf("Canonical(%q) = %q, but as Unicode it is %q, which is %q", name, canonical, letters, back)
		}
	})
}
