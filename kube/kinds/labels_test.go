package kinds

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/wire"
	"github.com/signpostd/signpost/kube"
)

// encodedLabels returns the fields "labels" of metadata with only these labels.
func encodedLabels(t interface{ Fatal(...any) }, labels map[string]string) []byte {
	message, err := (&metav1.ObjectMeta{Labels: labels}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var fields []byte
	r := wire.Read(message)
	for r.Next(wire.Fields{Bytes: 1 << wire.MetadataLabels}) {
		fields = append(fields, message[r.Start():r.End()]...)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return fields
}

// TestLabels shows that the labels are those of the object, in each form and after any other labels.
func TestLabels(t *testing.T) {
	scopes := []kube.Scope{{}, kube.NewScope("local")}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SampledFrom([]string{"", "a", "b", "app", "web", "a longer one that has more than a few letters, so that its length is a number of two bytes: it goes on for a hundred and thirty"})
		labels := rapid.MapOfN(texts, texts, 0, 4).Draw(t, "labels")
		want := objectmeta.NewLabels(labels)
		for i, s := range scopes {
			if diff := cmp.Diff(want, Labels(s, labels)); diff != "" {
				t.Fatalf("scope %d, from an object (-want +got):\n%s", i, diff)
			}
			got, err := EncodedLabels(s, encodedLabels(t, labels))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("scope %d, from a message (-want +got):\n%s", i, diff)
			}
		}
	})
}

// TestLabelsAreShared shows that objects with equal labels share them, whether decoded from protobuf or from
// objects.
func TestLabelsAreShared(t *testing.T) {
	s := kube.NewScope("local")
	labels := map[string]string{"app": "web", "pod-template-hash": "6d4cf56db6", "tier": ""}
	first := Labels(s, labels)
	encoded := encodedLabels(t, labels)
	for range 2 {
		got, err := EncodedLabels(s, encoded)
		if err != nil || &got[0] != &first[0] {
			t.Errorf("labels from a message (error %v) are not those from an object", err)
		}
		if again := Labels(s, labels); &again[0] != &first[0] {
			t.Error("labels from a second object are not those from the first")
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = EncodedLabels(s, encoded) }); allocs > 0 {
		t.Errorf("known labels take %v allocations, want none", allocs)
	}
}

func TestMalformedLabels(t *testing.T) {
	good := encodedLabels(t, map[string]string{"app": "web"})
	for _, fields := range [][]byte{good[:len(good)-1], {0x5a}, {0x5a, 2, 0x0a, 9}} {
		for _, s := range []kube.Scope{{}, kube.NewScope("local")} {
			if l, err := EncodedLabels(s, fields); !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("%x: %v and error %v, want %v", fields, l, err, wire.ErrMalformed)
			}
		}
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
