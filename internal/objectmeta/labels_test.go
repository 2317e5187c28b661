package objectmeta

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewLabels(t *testing.T) {
	for name, tc := range map[string]struct {
		from map[string]string
		want Labels
	}{
		"nil":    {},
		"empty":  {from: map[string]string{}},
		"sorted": {from: map[string]string{"b": "2", "a": "1", "c": ""}, want: Labels{{"a", "1"}, {"b", "2"}, {"c", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, NewLabels(tc.from)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabelsGet(t *testing.T) {
	labels := NewLabels(map[string]string{"app": "web", "empty": "", "zone": "a"})
	for key, want := range map[string]string{"app": "web", "empty": "", "zone": "a"} {
		if got, ok := labels.Get(key); !ok || got != want {
			t.Errorf("Get(%q) = %q, %v, want %q", key, got, ok, want)
		}
	}
	for _, key := range []string{"", "ap", "appl", "zz"} {
		if got, ok := labels.Get(key); ok || got != "" {
			t.Errorf("Get(%q) = %q, %v, want none", key, got, ok)
		}
	}
	if _, ok := Labels(nil).Get("app"); ok {
		t.Error("no labels have the label app")
	}
}
