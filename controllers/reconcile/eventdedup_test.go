package reconcile

import (
	"slices"
	"testing"
)

func TestUnreported(t *testing.T) {
	var dedup EventDedup[string]
	db := Key{Namespace: "ns", Name: "db"}
	for i, step := range []struct {
		service         Key
		all, unreported []string
	}{
		{web, nil, nil},
		{web, []string{"a"}, []string{"a"}},
		{web, []string{"a"}, nil},
		{db, []string{"a"}, []string{"a"}},
		{web, []string{"b", "a"}, []string{"b"}},
		{web, nil, nil},
		{web, []string{"a"}, []string{"a"}},
		{db, []string{"a"}, nil},
	} {
		if got := dedup.Unreported(step.service, step.all...); !slices.Equal(got, step.unreported) {
			t.Errorf("step %d: unreported problems among %q of %s: %q, want %q", i, step.all, step.service, got, step.unreported)
		}
	}
	if dedup.Unreported(db); len(dedup.last) != 1 {
		t.Errorf("%d Services are remembered, want only the one with problems", len(dedup.last))
	}
}
