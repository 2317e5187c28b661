package specrefs

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

var specification = []Document{
	ReadDocument("destination.md", `# Linkerd
## 2. Get
### 2.7 Server
1. first
2. second
### 2.10 Last
| Id | Input |
| --- | --- |
| G1 | a |
| K1, K3 | b |
## Appendix A — Inputs
### A.4 Owners
`),
	ReadDocument("endpoints.md", `# Kubernetes
## 5. Sync
#### 5.10.1 Truncation
| EP-26 a–c | ExternalName |
| **EP-31** | ports |
| K3 | stays |
| K12 | label |
| Q3–Q6 | are not defined here |
| word, K99 | neither is this |
`),
	ReadDocument("dns.md", `# ExternalDNS
# 6. Sources
## 6.2 Table
1. no case
| 14 | a row |
# 14. Test scenarios (acceptance cases)
## 14.1 Plan
1. first
2. second
# Appendix A. Zones
`),
}

// Each document has what it defines, and nothing that it only mentions.
func TestReadDocument(t *testing.T) {
	for i, want := range []struct{ sections, cases string }{
		{"2 2.10 2.7 2.7.1 2.7.2 A A.4", "G1 K1 K3"},
		{"5 5.10.1", "EP-26 EP-26a EP-26b EP-26c EP-31 K12 K3"},
		{"14 14.1 14.1.1 14.1.2 6 6.2 6.2.1 6.2.14 A", "1 2"},
	} {
		d := specification[i]
		if got := strings.Join(slices.Sorted(maps.Keys(d.Sections)), " "); got != want.sections {
			t.Errorf("%s: got sections %s, want %s", d.Name, got, want.sections)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(d.Cases)), " "); got != want.cases {
			t.Errorf("%s: got cases %s, want %s", d.Name, got, want.cases)
		}
	}
}

// What can be followed passes, and each way to cite can dangle.
func TestCheck(t *testing.T) {
	const (
		inCatalog     = "catalog/resolve.go"
		inControllers = "controllers/endpoints/plan_test.go"
		inWorkloads   = "controllers/externalworkloads/plan.go"
		inDNS         = "dns/filter.go"
		nowhere       = "internal/run/group.go"
		page          = "docs/architecture.md"
	)
	for _, test := range []struct {
		name, path, text string
		want             string // the only complaint; "" for none
	}{
		{"a document and a section", nowhere, "// spec/dns.md §6.2.", ""},
		{"no such section", nowhere, "// spec/dns.md §6.20.", "internal/run/group.go:1: spec/dns.md has no §6.20"},
		{"no such document", nowhere, "// spec/clouds.md §1", "internal/run/group.go:1: there is no docs/spec/clouds.md"},
		{"no such document, at its place", nowhere, "// docs/spec/clouds.md", "internal/run/group.go:1: there is no docs/spec/clouds.md"},
		{"without the sign", nowhere, "// (spec/dns.md 6.2)", "internal/run/group.go:1: spec/dns.md 6.2 is not how sections are cited: write §"},
		{"an appendix in words", nowhere, "// spec/destination.md appendix A.4", "internal/run/group.go:1: spec/destination.md appendix A.4 is not how sections are cited: write §"},
		{"an appendix", nowhere, "// spec/destination.md §A.4, §A", ""},
		{"no such appendix", nowhere, "// spec/destination.md §A.5", "internal/run/group.go:1: spec/destination.md has no §A.5"},
		{"a step", nowhere, "// spec/destination.md §2.7.2", ""},
		{"no such step", nowhere, "// spec/destination.md §2.7.3", "internal/run/group.go:1: spec/destination.md has no §2.7.3"},
		{"a row", nowhere, "// spec/dns.md §6.2.14", ""},
		{"a longer number", nowhere, "// spec/destination.md §2.1", "internal/run/group.go:1: spec/destination.md has no §2.1"},
		{"a range", nowhere, "// spec/destination.md §2.7–2.10, §2.7–§2.10, §2.7 to §2.10", ""},
		{"the end of a range", nowhere, "// spec/destination.md §2.7–2.11", "internal/run/group.go:1: spec/destination.md has no §2.11"},
		{"of an RFC", nowhere, "// RFC 9110 §10.2.3 and RFC 2136, §3.4", ""},
		{"a sign alone", nowhere, "// A § needs a document.", ""},

		{"the directory's", inCatalog, "// as in §2.7", ""},
		{"the directory's, which has none", inCatalog, "// as in §6.2", "catalog/resolve.go:1: spec/destination.md has no §6.2"},
		{"the directory inside of another", inWorkloads, "// §2.7", ""},
		{"the outer directory", inControllers, "// §2.7", "controllers/endpoints/plan_test.go:1: spec/endpoints.md has no §2.7"},
		{"a directory that begins alike", "dnsish/a.go", "// §6.2", "dnsish/a.go:1: §6.2 is of no document: write the document before it, as in spec/dns.md §6.2"},
		{"no directory's", nowhere, "// §6.2", "internal/run/group.go:1: §6.2 is of no document: write the document before it, as in spec/dns.md §6.2"},
		{"the document goes on", nowhere, "// spec/dns.md §6, and\n// §6.2", ""},
		{"and on over a line's end", nowhere, "// (spec/dns.md\n// §6.3)", "internal/run/group.go:2: spec/dns.md has no §6.3"},
		{"until another one", nowhere, "// spec/dns.md §6, spec/endpoints.md §6", "internal/run/group.go:1: spec/endpoints.md has no §6"},
		{"until a blank line", nowhere, "// spec/dns.md §6\n\n// §6", "internal/run/group.go:3: §6 is of no document: write the document before it, as in spec/dns.md §6"},
		{"until the next paragraph", page, "spec/dns.md §6\n§6\n\n§6", "docs/architecture.md:4: §6 is of no document: write the document before it, as in spec/dns.md §6"},
		{"until the next row", page, "| spec/dns.md §6 |\n| §6 |", "docs/architecture.md:2: §6 is of no document: write the document before it, as in spec/dns.md §6"},
		{"until the next item", page, "- spec/dns.md §6\n  §6\n- §6", "docs/architecture.md:3: §6 is of no document: write the document before it, as in spec/dns.md §6"},
		{"comments in YAML are a paragraph", "deploy/dns.yaml", "# spec/dns.md §6,\n# §6.2\na: b", ""},

		{"a case of its document", nowhere, "// spec/endpoints.md case EP-31", ""},
		{"no such case of its document", nowhere, "// spec/endpoints.md case EP-30", "internal/run/group.go:1: spec/endpoints.md has no case EP-30"},
		{"a name", inControllers, "// EP-26, EP-26c, K12, G1", ""},
		{"a letter too many", inControllers, "// EP-26d", "controllers/endpoints/plan_test.go:1: spec/endpoints.md has no case EP-26d"},
		{"no such name", inControllers, "// K1", "controllers/endpoints/plan_test.go:1: spec/endpoints.md has no case K1"},
		{"no such name, of another's", inControllers, "// G2", "controllers/endpoints/plan_test.go:1: spec/destination.md has no case G2"},
		{"a name in a string", inControllers, `var a = "K13 label"`, "controllers/endpoints/plan_test.go:1: spec/endpoints.md has no case K13"},
		{"a name in a raw string", inControllers, "var a = `\n\nK13 label`", "controllers/endpoints/plan_test.go:3: spec/endpoints.md has no case K13"},
		{"a name in code", inControllers, "func K13[G2 any]() {}", ""},
		{"what only looks like a name", inControllers, "// IPv4, SHA1, P256, B52, UTF-16, AES-256", ""},
		{"the directory's name", "kube/linked/set_test.go", "// K3", ""},
		{"not the directory's", "kube/linked/set_test.go", "// K12", "kube/linked/set_test.go:1: spec/destination.md has no case K12"},
		{"another's, named", "kube/linked/set_test.go", "// spec/endpoints.md case K12", ""},
		{"of nobody, one has it", nowhere, "// K12", ""},
		{"of nobody, two have it", nowhere, "// K3", "internal/run/group.go:1: K3 is a case of destination.md and of endpoints.md: write the document before it, as in spec/destination.md case K3"},
		{"of nobody, nobody has it", nowhere, "// K99", "internal/run/group.go:1: spec/destination.md has no case K99"},
		{"scenario", "app/process/testdata/script/a.txtar", "G1 G2  A story.\n-- apply --\n", "app/process/testdata/script/a.txtar:1: spec/destination.md has no case G2"},

		{"a number", inDNS, "// Case 1, cases 1 and 2.", ""},
		{"a number of its document", nowhere, "// spec/dns.md case 2", ""},
		{"no such number", inDNS, `var a = "case 3: c"`, `dns/filter.go:1: spec/dns.md has no case 3`},
		{"no such number in a list", inDNS, "// cases 1,\n// 2 and 3", `dns/filter.go:1: spec/dns.md has no case 3`},
		{"no such end", inDNS, "// cases 1 to 3", `dns/filter.go:1: spec/dns.md has no case 3`},
		{"a number in code", inDNS, "func f(n int) { switch n { case 3: } }", ""},
		{"a number where cases have names", inCatalog, "// in case 3 of them", ""},
		{"a name where cases have numbers", inDNS, "// F5, G2", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := test.text
			if strings.HasSuffix(test.path, ".go") {
				text += "\n"
			}
			dangling := Check(specification, test.path, text)
			if got := strings.Join(dangling, "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A file may have many, which come in their order.
func TestCheckAll(t *testing.T) {
	got := strings.Join(Check(specification, "dns/a.go", "// §1\npackage a // §6\n\n// case 7, §2\n"), "\n")
	want := "dns/a.go:1: spec/dns.md has no §1\ndns/a.go:4: spec/dns.md has no case 7\ndns/a.go:4: spec/dns.md has no §2"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
