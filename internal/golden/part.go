package golden

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Part compares a generated part of a hand-written page with body, and rewrites it with -update. In the page,
// the part is between the comments "generated: NAME" and "end: NAME".
func Part(t *testing.T, file, name, body string) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- generated: %s -->\n\n", name), fmt.Sprintf("\n<!-- end: %s -->\n", name)
	before, rest, ok := strings.Cut(string(page), begin)
	had, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no part between %q and %q: write both lines", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+body+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(body, had); diff != "" {
		t.Errorf("the part %s of %s is stale: run this test with -update (-program +page):\n%s", name, file, diff)
	}
}
