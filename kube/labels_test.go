package kube

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/wire"
)

// encodedLabels returns the fields "labels" of metadata that has these labels only.
func encodedLabels(t interface{ Fatal(...any) }, labels map[string]string) []byte {
	message, err := (&metav1.ObjectMeta{Labels: labels}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var fields []byte
	for len(message) > 0 {
		f, rest, err := wire.Next(message)
		if err != nil {
			t.Fatal(err)
		}
		if f.Number == labelsField {
			fields = append(fields, message[:len(message)-len(rest)]...)
		}
		message = rest
	}
	return fields
}

// Labels are those of the object, however they come and whatever was asked for before.
func TestLabels(t *testing.T) {
	scopes := []Scope{{}, newScope("local"), {strings: newInterner(2), labels: newLabelSets(newInterner(2), 2)}}
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SampledFrom([]string{"", "a", "b", "app", "web", "a longer one that has more than a few letters, so that its length is a number of two bytes: it goes on for a hundred and thirty"})
		labels := rapid.MapOfN(texts, texts, 0, 4).Draw(t, "labels")
		want := catalog.NewLabels(labels)
		for i, s := range scopes {
			if diff := cmp.Diff(want, s.Labels(labels)); diff != "" {
				t.Fatalf("scope %d, from an object (-want +got):\n%s", i, diff)
			}
			got, err := s.EncodedLabels(encodedLabels(t, labels))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("scope %d, from a message (-want +got):\n%s", i, diff)
			}
			if s.labels != nil && len(s.labels.young)+len(s.labels.old) > max(4, 2*s.labels.limit) {
				t.Fatalf("scope %d holds %d sets", i, len(s.labels.young)+len(s.labels.old))
			}
		}
	})
}

// Objects with the same labels share them, those that came in a message and those that
// came as objects.
func TestLabelsAreShared(t *testing.T) {
	s := newScope("local")
	labels := map[string]string{"app": "web", "pod-template-hash": "6d4cf56db6", "tier": ""}
	first := s.Labels(labels)
	encoded := encodedLabels(t, labels)
	for range 2 {
		got, err := s.EncodedLabels(encoded)
		if err != nil || &got[0] != &first[0] {
			t.Errorf("labels from a message (error %v) are not those from an object", err)
		}
		if again := s.Labels(labels); &again[0] != &first[0] {
			t.Error("labels from a second object are not those from the first")
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = s.EncodedLabels(encoded) }); allocs > 0 {
		t.Errorf("known labels take %v allocations, want none", allocs)
	}
}

func TestMalformedLabels(t *testing.T) {
	good := encodedLabels(t, map[string]string{"app": "web"})
	for _, fields := range [][]byte{good[:len(good)-1], {0x5a}, {0x5a, 2, 0x0a, 9}} {
		for _, s := range []Scope{{}, newScope("local")} {
			if l, err := s.EncodedLabels(fields); !errors.Is(err, wire.ErrMalformed) {
				t.Errorf("%x: %v and error %v, want %v", fields, l, err, wire.ErrMalformed)
			}
		}
	}
}

// A scope is asked by the goroutine of a watch, and by that of a reflector that lists.
func TestScopeFromManyGoroutines(t *testing.T) {
	s := newScope("local")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 500 {
				text := fmt.Sprint(i % 50)
				if got := s.Labels(map[string]string{"app": s.Intern(text)}); got[0].Value != s.InternBytes([]byte(text)) {
					t.Errorf("labels are %v, want the value %s", got, text)
				}
			}
		})
	}
	all.Wait()
}
