package golden

import (
	"fmt"
	"os"
	"strings"
	"testing"
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
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no part between %q and %q: write both lines", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	File(t, file, before+begin+body+end+after)
}
