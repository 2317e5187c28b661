package libdns_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider/libdns"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
)

const hidden = "do-not-show-me"

func TestSettings(t *testing.T) {
	secret := file(t, "secret-token\n")
	for _, test := range []struct {
		name, settings string
		// want is a part of the error; it is empty if there is none.
		want string
	}{
		{"a value", `{"token": "secret-token"}`, ""},
		{"a value in a file", `{"token": "file:` + secret + `", "size": 3}`, ""},
		{"no settings", `{}`, "the setting token is missing or empty"},
		{"an empty setting", `{"token": ""}`, "the setting token is missing or empty"},
		{"an empty file", `{"token": "file:` + file(t, "\n") + `"}`, "the setting token is missing or empty"},
		{"an unknown setting", `{"token": "` + hidden + `", "tokem": "` + hidden + `"}`, `"tokem"`},
		{"no object", `"` + hidden + `"`, "isn't a JSON object"},
		{"null", `null`, "isn't a JSON object"},
		{"a number in the place of a text", `{"token": 98765432109876}`, `"token"`},
		{"a text in the place of a number", `{"token": "secret-token", "size": "` + hidden + `"}`, `"size"`},
		{"a file that isn't there", `{"token": "file:/does/not/exist"}`, "/does/not/exist"},
		{"a directory", `{"token": "file:/"}`, "is a directory"},
		{"a large file", `{"token": "file:` + file(t, strings.Repeat("x", 1<<20+1)) + `"}`, "has more than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := libdnstest.NewService(zoneName)
			p, err := configure(t, s.Module(module.ReplacingAtOnce), test.settings).Open(t.Context(), input())
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Records(t.Context(), zone); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "--libdns-config") {
				t.Fatalf("error %v, want one about --libdns-config that says %q", err, test.want)
			}
			if strings.Contains(err.Error(), hidden) || strings.Contains(err.Error(), "98765432109876") {
				t.Fatalf("the error shows a value: %v", err)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	config := libdns.Plugin().New()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	config.Flags(flags)
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte(`{"token": "x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{nil, `--libdns-name "": no such module: give one of cloudns, desec, hetzner`},
		{[]string{"--libdns-name=desec"}, "--libdns-config : empty"},
		{[]string{"--libdns-config=" + path, "--libdns-zone=a..b"}, `--libdns-zone "a..b"`},
	} {
		if err := flags.Parse(test.arguments); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Open(t.Context(), input()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: error %v, want %q", test.arguments, err, test.want)
		}
	}
}
