package reconcile

import (
	"slices"
	"testing"
)

func TestTold(t *testing.T) {
	var told EventDedup[string]
	db := Key{Namespace: "ns", Name: "db"}
	for i, step := range []struct {
		service   Key
		all, news []string
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
		if got := told.Unreported(step.service, step.all...); !slices.Equal(got, step.news) {
			t.Errorf("step %d: news of %q about %s: %q, want %q", i, step.all, step.service, got, step.news)
		}
	}
	if told.Unreported(db); len(told.last) != 1 {
		t.Errorf("%d Services are remembered, want the one that has something to tell", len(told.last))
	}
}
