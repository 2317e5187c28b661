package rfc2136

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

func writeZones(t *testing.T, files map[string]string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

const soa = " SOA ns hostmaster 1 3600 600 86400 60\n"

func TestOpenFiles(t *testing.T) {
	paths := writeZones(t, map[string]string{
		"named-by-soa": "$ORIGIN org.\n$TTL 300\nexample" + soa + `$ORIGIN Example.org.
@ NS ns.example.net.
WWW 60 A 192.0.2.2
www 60 A 192.0.2.1
www 60 A 192.0.2.1
@ MX 10 mail
text TXT "a\"b" "c"
key TYPE65534 \# 1 00
@ CAA 0 issue "ca.example.net"
srv SRV 0 5 80 www
sub.deep A 192.0.2.3
here.sub A 192.0.2.9
`,
		"by-origin.txt":        "; comment\n$ORIGIN example.com.\n@ 60" + soa + "x 60 CNAME y\n",
		"db.example.net":       "@ 60" + soa + "x 60 AAAA 2001:db8::1\n",
		"sub.example.org.zone": "@ 60" + soa + "x 60 A 192.0.2.4\n@ 60 A 192.0.2.5\n",
	})
	f, err := OpenFiles(paths)
	if err != nil {
		t.Fatal(err)
	}
	zones, err := f.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, z := range zones {
		list, err := f.Records(t.Context(), z)
		if err != nil || z.ID != z.Name {
			t.Fatal(z, err)
		}
		for _, r := range list {
			got[z.Name+": "+r.Name+" "+r.Type] = strings.Join(r.Targets, ", ")
		}
	}
	want := map[string]string{
		"example.org: example.org NS": "ns.example.net", "example.org: www.example.org A": "192.0.2.1, 192.0.2.2",
		"example.org: example.org MX": "10 mail.Example.org", "example.org: text.example.org TXT": `"a\"b" "c"`,
		"example.org: srv.example.org SRV": "0 5 80 www.Example.org.", "example.org: sub.deep.example.org A": "192.0.2.3",
		"example.com: x.example.com CNAME": "y.example.com", "example.net: x.example.net AAAA": "2001:db8::1",
		// Names that belong to another zone are not visible in this one.
		"sub.example.org: x.sub.example.org A": "192.0.2.4", "sub.example.org: sub.example.org A": "192.0.2.5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	f.Keep(nil)
	f.Keep([]string{"example.org"})
	if zones, err = f.Zones(t.Context()); err != nil || len(zones) != 2 {
		t.Errorf("kept %v, %v", zones, err)
	}
}

func TestFilesChangeNothing(t *testing.T) {
	f, err := OpenFiles(writeZones(t, map[string]string{"example.org": "@ 60" + soa + "x 60 A 192.0.2.4\n"}))
	if err != nil {
		t.Fatal(err)
	}
	z := dns.Zone{ID: "example.org", Name: "example.org"}
	record := &dns.RecordSet{Name: "X.example.org", Type: "TXT", Targets: []string{"a text"}, SetIdentifier: "x"}
	// A rejection would blame the changes, and the publisher would look for the rejected one.
	if err := f.Apply(t.Context(), z, []dns.Change{{New: record}}); !errors.Is(err, provider.ErrDryRun) || errors.Is(err, provider.ErrRejected) {
		t.Errorf("Apply: %v, want only %v", err, provider.ErrDryRun)
	}
	if list, err := f.Records(t.Context(), dns.Zone{Name: "example.com"}); err == nil {
		t.Errorf("a zone without a file has %v", list)
	}
	list, err := f.Records(t.Context(), z)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	list[0].Targets[0] = "changed"
	if list, err = f.Records(t.Context(), z); err != nil || list[0].Targets[0] != "192.0.2.4" {
		t.Errorf("what is handed out is not a copy: %v, %v", list, err)
	}
	adjusted, err := f.Adjust(t.Context(), z, []*dns.RecordSet{record})
	if err != nil || len(adjusted) != 1 || adjusted[0].Sets[0].Targets[0] != `"a text"` || adjusted[0].Sets[0].SetIdentifier != "" {
		t.Errorf("adjusted: %v, %v", adjusted[0], err)
	}
}

func TestBadFiles(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"no such file":                         nil,
		"192.0.2.256":                          {"example.org": "x 60 A 192.0.2.256\n"},
		"another file has the zone":            {"example.org": "@ 60" + soa, "db.example.org": "@ 60" + soa},
		"is not in the zone example.org.":      {"example.org": "@ 60" + soa + "x.example.com. 60 A 192.0.2.1\n"},
		"use one file for each zone":           {"x": "$TTL 60\nexample.org." + soa + "example.com." + soa},
		"it has no SOA record":                 {"bad.zone": "www 300 IN A 192.0.2.1\n"},
		"is not a domain name: name the zone ": {"a..b": "x 60 A 192.0.2.1\n"},
	} {
		paths := writeZones(t, files)
		if files == nil {
			paths = []string{filepath.Join(t.TempDir(), "nonesuch")}
		}
		if _, err := OpenFiles(paths); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzReadFile: no text makes the parser give records outside of the zone, or panic.
func FuzzReadFile(f *testing.F) {
	for _, seed := range []string{"", "$ORIGIN example.org.\n@ 60" + soa, "x 60 TXT \"a\" b\n", "$GENERATE 1-3 $ 60 A 192.0.2.$\n", "$INCLUDE x\n", "x 60 A"} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "example.org")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := OpenFiles([]string{path})
		if err != nil {
			return
		}
		zones, err := files.Zones(t.Context())
		if err != nil || len(zones) != 1 {
			t.Fatalf("zones %v, %v", zones, err)
		}
		list, err := files.Records(t.Context(), zones[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			if len(r.Targets) == 0 || (zones[0].Name != "" && r.Name != zones[0].Name && !strings.HasSuffix(r.Name, "."+zones[0].Name)) {
				t.Errorf("zone %s: %+v", zones[0].Name, r)
			}
		}
	})
}
