package specrefs

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestAnchors(t *testing.T) {
	got := slices.Sorted(maps.Keys(Anchors(strings.Join([]string{
		"# What differs from Linkerd's, on purpose",
		"### 15.1 `Get` — in place",
		"## [Of a link](elsewhere.md#x)",
		"## Twice", "## Twice", "## Ownership_records",
		"```", "# in a shell", "```",
		"#no heading",
	}, "\n"))))
	want := []string{"151-get--in-place", "of-a-link", "ownership_records", "twice", "twice-1", "what-differs-from-linkerds-on-purpose"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheckLinks(t *testing.T) {
	tree := Tree{
		".": nil, "docs": nil, "README.md": {"what": true}, "docs/dns.md": {"apex": true, "rights": true},
		"docs/decisions": nil, "docs/decisions/0001-a.md": {}, "deploy/rbac/dns.yaml": {},
	}
	for _, test := range []struct {
		name, text string
		want       string // the only complaint; "" for none
	}{
		{"a file", "[a](decisions/0001-a.md)", ""},
		{"a directory", "[a](decisions) [b](decisions/)", ""},
		{"above", "[a](../deploy/rbac/dns.yaml), [b](../README.md#what)", ""},
		{"an anchor here", "[a](#apex)", ""},
		{"elsewhere", "[a](https://example.org/#x) [b](mailto:a@example.org)", ""},
		{"code", "`[a](missing.md)`\n\n```\n[a](missing.md)\n```", ""},
		{"no file", "\n[a](decisions/0002-b.md)", "docs/dns.md:2: there is no docs/decisions/0002-b.md, which decisions/0002-b.md leads to"},
		{"no such place", "[a](README.md)", "docs/dns.md:1: there is no docs/README.md, which README.md leads to"},
		{"out of the repository", "[a](../../x.md)", "docs/dns.md:1: there is no ../x.md, which ../../x.md leads to"},
		{"no anchor here", "[a](#apexes)", "docs/dns.md:1: docs/dns.md has no heading #apexes"},
		{"no anchor there", "[a](../README.md#apex)", "docs/dns.md:1: README.md has no heading #apex"},
		{"the second on a line", "[a](#apex) [b](#b)", "docs/dns.md:1: docs/dns.md has no heading #b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(CheckLinks(tree, "docs/dns.md", test.text), "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
