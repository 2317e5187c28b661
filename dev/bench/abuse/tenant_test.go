package abuse

import (
	"strings"
	"testing"
)

// annotationsBytes is how many bytes all annotations of an object may have together.
const annotationsBytes = 256 << 10

// The lists of the hostile tenant are as long as the API server lets them be, and without a word twice: one
// that is shorter, or that is refused, would be no attack.
func TestHostileLists(t *testing.T) {
	for name, list := range map[string]func(edit int) string{
		"opaque ports": opaquePorts, "federation": federation,
	} {
		t.Run(name, func(t *testing.T) {
			first := list(0)
			for _, edit := range []int{0, 1, 150} {
				text := list(edit)
				if n := len(text); n < 230_000 || n > annotationsBytes-1000 {
					t.Errorf("edit %d has %d bytes", edit, n)
				}
				words := map[string]bool{}
				for word := range strings.SplitSeq(strings.TrimSuffix(text, ","), ",") {
					if words[word] {
						t.Fatalf("edit %d has %q twice", edit, word)
					}
					words[word] = true
				}
				if edit > 0 && text == first {
					t.Errorf("edit %d is the same as the first", edit)
				}
			}
		})
	}
}
