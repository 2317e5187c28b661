package cloudflare

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/cloudflaretest"
)

// Settings that can't be are errors that name the flag or the variable (spec/clouds.md §6.1).
func TestSettings(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	empty := filepath.Join(t.TempDir(), "empty")
	large := filepath.Join(t.TempDir(), "large")
	for path, size := range map[string]int{empty: 0, large: maxSecretSize + 1} {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		arguments []string
		variables map[string]string
		want      string
	}{
		{arguments: []string{"--cloudflare-dns-records-per-page=0"}, want: "--cloudflare-dns-records-per-page 0: must be 1 to 5000"},
		{arguments: []string{"--cloudflare-dns-records-per-page=5001"}, want: "--cloudflare-dns-records-per-page 5001"},
		{arguments: []string{"--cloudflare-custom-hostnames-min-tls-version=1.4"}, want: "1.0, 1.1, 1.2, 1.3"},
		{arguments: []string{"--cloudflare-custom-hostnames-certificate-authority=me"}, want: "google, ssl_com, lets_encrypt, none"},
		{variables: map[string]string{"CF_API_TOKEN": ""}, want: "set the variable CF_API_TOKEN"},
		{variables: map[string]string{"CF_API_TOKEN": "", "CF_API_KEY": "the-secret"}, want: "set CF_API_KEY and CF_API_EMAIL"},
		{variables: map[string]string{"CF_API_TOKEN": "the-secret\nof two lines"}, want: "CF_API_TOKEN: it has a character"},
		{variables: map[string]string{"CF_API_TOKEN": "  "}, want: "CF_API_TOKEN: empty"},
		{variables: map[string]string{"CF_API_TOKEN": "file:" + missing}, want: missing},
		{variables: map[string]string{"CF_API_TOKEN": "file:" + empty}, want: "CF_API_TOKEN: empty"},
		{variables: map[string]string{"CF_API_TOKEN": "file:" + large}, want: "has more than"},
		{variables: map[string]string{"CLOUDFLARE_BASE_URL": "api.example.net"}, want: "CLOUDFLARE_BASE_URL"},
	} {
		environment(t, "")
		for name, value := range test.variables {
			t.Setenv(name, value)
		}
		_, err := configure(t, test.arguments...).Open(t.Context(), input())
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v %v: %v, want %q", test.arguments, test.variables, err, test.want)
		}
	}
}

// Without a variable for it, requests go to Cloudflare (spec/clouds.md §6.1).
func TestAddress(t *testing.T) {
	environment(t, "")
	sent := ""
	in := input()
	in.Wrap = func(http.RoundTripper) http.RoundTripper {
		return answering(func(r *http.Request) *http.Response {
			sent = r.URL.String()
			return response(http.StatusOK, `{"success":true,"result":[],"result_info":{}}`)
		})
	}
	if _, err := open(t, in).Zones(t.Context()); err != nil || !strings.HasPrefix(sent, "https://api.cloudflare.com/client/v4/zones?") {
		t.Errorf("sent to %s, %v", sent, err)
	}
}

// A token may be in a file, and is read again when somebody replaces it (spec/clouds.md §6.1).
func TestTokenFile(t *testing.T) {
	server := start(t)
	server.AddZone(cloudflaretest.Zone{Name: "shop.test"})
	path := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("an-old-token-of-ours\n")
	t.Setenv("CF_API_TOKEN", "file:"+path)
	p := open(t, input())
	if _, err := p.Zones(t.Context()); err == nil {
		t.Fatal("the old token is accepted")
	}
	write(" " + cloudflaretest.Token + "\n")
	if zones, err := p.Zones(t.Context()); err != nil || len(zones) != 1 {
		t.Errorf("zones %v, %v", zones, err)
	}
}
