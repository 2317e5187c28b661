package reconcile

import "testing"

func TestTold(t *testing.T) {
	var told Told
	db := Key{Namespace: "ns", Name: "db"}
	for i, step := range []struct {
		service Key
		text    string
		news    bool
	}{
		{web, "", false},
		{web, "refused", true},
		{web, "refused", false},
		{db, "refused", true},
		{web, "refused otherwise", true},
		{web, "", false},
		{web, "refused otherwise", true},
		{db, "refused", false},
	} {
		if got := told.News(step.service, step.text); got != step.news {
			t.Errorf("step %d: %q about %s is news: %t, want %t", i, step.text, step.service, got, step.news)
		}
	}
}
