package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/xds.md has a row for each annotation that kube/kinds/policy.go reads, and no other; the row
// of lb-policy has each policy, and that of retry-on each status (case 35: what is not in the table
// is a Problem).
func TestTableOfAnnotations(t *testing.T) {
	code, doc := read(t, "../../kube/kinds/policy.go"), read(t, "../../docs/xds.md")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(signpost\\.dev/[a-z-]+)` \\|(.*)$").FindAllStringSubmatch(doc, -1) {
		rows[m[1]] = m[2]
	}
	var known []string
	for _, m := range regexp.MustCompile(`Annotation\s+= "(signpost\.dev/[a-z-]+)"`).FindAllStringSubmatch(code, -1) {
		if known = append(known, m[1]); rows[m[1]] == "" {
			t.Errorf("docs/xds.md: the table of annotations has no %s", m[1])
		}
	}
	for name := range rows {
		if !slices.Contains(known, name) {
			t.Errorf("docs/xds.md: no annotation %s is read", name)
		}
	}
	kinds := regexp.MustCompile(`"([a-z-]+)": +catalog\.`).FindAllStringSubmatch(code, -1)
	_, statuses, _ := strings.Cut(code, "retryStatuses = []string{")
	statuses, _, _ = strings.Cut(statuses, "}")
	if len(known) == 0 || len(kinds) == 0 || statuses == "" {
		t.Fatal("kube/kinds/policy.go has another form: read it in another way")
	}
	for _, m := range kinds {
		if !strings.Contains(rows["signpost.dev/lb-policy"], "`"+m[1]) {
			t.Errorf("docs/xds.md: signpost.dev/lb-policy lacks %s", m[1])
		}
	}
	for status := range strings.SplitSeq(statuses, ", ") {
		if !strings.Contains(rows["signpost.dev/retry-on"], strings.Trim(status, `"`)) {
			t.Errorf("docs/xds.md: signpost.dev/retry-on lacks %s", status)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
