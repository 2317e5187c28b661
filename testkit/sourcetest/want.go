package sourcetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/kubetest"
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

// Waits checks that an object waits without a problem until the tables of one resource, such as services,
// are filled, and that it is evaluated again when they are. Before, its result says that it waits for the
// first list of a kind, and afterwards it has the text after. The object is named as in [Fixture.Records].
func Waits(t *testing.T, plugin source.Plugin, resource, manifests, object, kind, after string) {
	t.Helper()
	s := OpenWithout(t, plugin, resource, manifests)
	if got := s.Records(); !strings.Contains(got, object+"\n  error ") || !strings.HasSuffix(got, "wait for the first list of the kind "+kind+"\n") {
		t.Errorf("before %s are read: got\n%s", resource, got)
	}
	s.Changed()
	s.FillRest()
	kubetest.Eventually(t, 10*time.Second, func() error {
		if changed := s.Changed(); changed != object+"\n" {
			return fmt.Errorf("these are evaluated again: %q", changed)
		}
		return nil
	})
	if got := s.Records(); !strings.Contains(got, after) {
		t.Errorf("after %s are read: got\n%swant among it\n%s", resource, got, after)
	}
}

// RandomChanges opens a source and changes its objects in many steps, after which at least some must have
// records. [Fixture.Apply] and [Fixture.Delete] check that each object whose records change is evaluated
// again.
func RandomChanges(t *testing.T, plugin source.Plugin, steps, published int, change func(s *Fixture, step int), flags ...string) {
	t.Helper()
	s, err := Open(t, plugin, flags...)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for step := range steps {
		if change(s, step); s.Records() != "" {
			n++
		}
	}
	if n < published {
		t.Errorf("after %d of %d steps there are records; draw objects that fit better", n, steps)
	}
	s.End()
}
