package kinds

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
)

// TestLabels shows that the labels are those of the object, after any other labels.
func TestLabels(t *testing.T) {
	scopes := []kube.Scope{{}, kube.NewScope("local")}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SampledFrom([]string{"", "a", "b", "app", "web", "a longer one that has more than a few letters, so that its length is a number of two bytes: it goes on for a hundred and thirty"})
		labels := rapid.MapOfN(texts, texts, 0, 4).Draw(t, "labels")
		want := objectmeta.NewLabels(labels)
		for i, s := range scopes {
			if diff := cmp.Diff(want, Labels(s, labels)); diff != "" {
				t.Fatalf("scope %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

// TestLabelsAreShared shows that objects with equal labels share them.
func TestLabelsAreShared(t *testing.T) {
	s := kube.NewScope("local")
	labels := map[string]string{"app": "web", "pod-template-hash": "6d4cf56db6", "tier": ""}
	first := Labels(s, labels)
	if again := Labels(s, labels); &again[0] != &first[0] {
		t.Error("labels from a second object are not those from the first")
	}
}

// The goroutine of a watch and that of a listing reflector use a scope at the same time.
func TestScopeFromManyGoroutines(t *testing.T) {
	s := kube.NewScope("local")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 500 {
				text := fmt.Sprint(i % 50)
				if got := Labels(s, map[string]string{"app": s.Intern(text)}); got[0].Value != s.InternBytes([]byte(text)) {
					t.Errorf("labels are %v, want the value %s", got, text)
				}
			}
		})
	}
	all.Wait()
}
