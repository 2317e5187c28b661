package dns_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
)

func TestZoneIDFilter(t *testing.T) {
	tests := []struct {
		filter  dns.ZoneIDFilter
		yes, no string
	}{
		{yes: "/hostedzone/ABC x"},
		{filter: dns.ZoneIDFilter{""}, yes: "/hostedzone/ABC x"},
		{filter: dns.ZoneIDFilter{"ABC", "/hostedzone/D"}, yes: "/hostedzone/ABC ABC /hostedzone/D", no: "/hostedzone/AB D"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.filter, " "), func(t *testing.T) { wantMatches(t, test.filter, test.yes, test.no) })
	}
}

func TestZoneNameFilter(t *testing.T) {
	wantMatches(t, dns.NewZoneNameFilter([]string{"example.org"}), "example.org a.example.org", "anexample.org org")
	wantMatches(t, dns.NewZoneNameFilter(nil), "example.org", "")
}

// The filter example.org doesn't admit anexample.org (D26).
func TestZoneNameEndsWith(t *testing.T) {
	for _, test := range []struct {
		endings []string
		yes, no string
	}{
		{endings: nil, yes: "example.org org"},
		{endings: []string{""}, yes: "example.org org"},
		{endings: []string{"example.org", "Bücher.de."}, yes: "example.org Example.org. a.b.example.org xn--bcher-kva.de", no: "anexample.org org example.org.net"},
		{endings: []string{".example.org"}, yes: "a.example.org", no: "example.org anexample.org"},
	} {
		for name := range strings.FieldsSeq(test.yes + " | " + test.no) {
			if name == "|" {
				continue
			}
			want := slices.Contains(strings.Fields(test.yes), name)
			if got := dns.ZoneNameEndsWith(name, test.endings); got != want {
				t.Errorf("%q ends with one of %q: %v, want %v", name, test.endings, got, want)
			}
		}
	}
}

func TestZoneFinder(t *testing.T) {
	// Case 214.
	zones := []dns.Zone{
		{ID: "org", Name: "example.org"},
		{ID: "sub", Name: "sub.example.org."},
		{ID: "private", Name: "Sub.example.org", Private: true},
		{ID: "idn", Name: "æøå.org"},
		{ID: "puny", Name: "xn--bcher-kva.de"},
		{ID: "under", Name: "_tcp.example.net"},
	}
	tests := map[string]string{
		"www.example.org":         "org",
		"example.org":             "org",
		"anexample.org":           "",
		"org":                     "",
		"sub.example.org":         "sub",
		"a.b.sub.example.org.":    "sub",
		"xsub.example.org":        "org",
		"_sip._tcp.example.org":   "org",
		"_sip._tcp.example.net":   "under",
		"a.æøå.org":               "idn",
		"a.xn--5cab8c.org":        "idn",
		"_srv.bücher.de":          "puny",
		"example.com":             "",
		"":                        "",
		"SUB.EXAMPLE.ORG":         "sub",
		"*.sub.example.org":       "sub",
		"sub.example.org.example": "",
	}
	finder := dns.NewZoneFinder(zones)
	all := dns.NewZoneFinder(append(zones, dns.Zone{ID: "all"}))
	for name, want := range tests {
		got, ok := finder.Find(name)
		if got.ID != want || ok != (want != "") {
			t.Errorf("Find(%q) = %v, %v, want %q", name, got, ok, want)
		}
		if got, ok := all.Find(name); !ok || (got.ID != want && (want != "" || got.ID != "all")) {
			t.Errorf("with a zone of all, Find(%q) = %v, %v", name, got, ok)
		}
	}
	if got := finder.FindAll("a.sub.example.org"); len(got) != 2 || got[0].ID != "sub" || got[1].ID != "private" {
		t.Errorf("FindAll = %v, want both zones with the name", got)
	}
}
