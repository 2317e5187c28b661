package sourcetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
)

// WantSkip checks that an object has no record, for a reason whose message contains says, followed only by
// remarks about annotations with these reasons.
func WantSkip(t testing.TB, got source.Result, reason source.SkipReason, says string, remarks ...source.SkipReason) {
	t.Helper()
	if len(got.Records)+len(got.Problems) > 0 || got.Err != nil {
		t.Errorf("result %+v, want neither records nor problems", got)
		return
	}
	want := append([]source.SkipReason{reason}, remarks...)
	if len(got.Skipped) != len(want) {
		t.Errorf("skipped %+v, want the reasons %s", got.Skipped, want)
		return
	}
	for i, skip := range got.Skipped {
		if skip.Reason != want[i] || i == 0 && !strings.Contains(skip.Message, says) {
			t.Errorf("skipped %+v, want the reason %s, and at first one that says %q", skip, want[i], says)
		}
	}
}

// WantProblem checks the number of record sets of an object, and that it has a problem or an error with a
// text, which starts with the field for a problem. All texts together must be short.
func WantProblem(t testing.TB, got source.Result, records int, text string) {
	t.Helper()
	said := fmt.Sprint(got.Err)
	for _, p := range got.Problems {
		said += "\n" + p.Subject + ": " + p.Reason
	}
	if len(got.Records) != records || !strings.Contains(said, text) || len(said) > 2000 {
		t.Errorf("%d records, and %q; want %d and %q", len(got.Records), said, records, text)
	}
}

// Skips returns a function that runs a test: with the flags, the object of manifests with this key
// has no record, for a reason whose message contains says.
func Skips(t *testing.T, plugin source.Plugin, key source.Key) func(name, manifests string, reason source.SkipReason, says string, flags ...string) {
	return func(name, manifests string, reason source.SkipReason, says string, flags ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			WantSkip(t, MustOpen(t, plugin, manifests, flags...).Evaluate(key), reason, says)
		})
	}
}

// Problems returns a function that runs a test: the object of manifests with this key has so many
// record sets, and a problem or an error with a text, as for [WantProblem].
func Problems(t *testing.T, plugin source.Plugin, key source.Key) func(name, manifests string, records int, text string) {
	return func(name, manifests string, records int, text string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			WantProblem(t, MustOpen(t, plugin, manifests).Evaluate(key), records, text)
		})
	}
}

// Many returns a YAML list with thousands of items, each formatted from its index.
func Many(format string) string {
	items := make([]string, 5000)
	for i := range items {
		items[i] = fmt.Sprintf(format, i)
	}
	return "[" + strings.Join(items, ", ") + "]"
}
