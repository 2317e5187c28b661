package publisher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// The history has each change of a record set with its old and new targets and the objects that ask
// for it, and each failure once. It has no ownership records.
func TestHistory(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		log := history.New(history.DefaultBytes, nil)
		w.change = func(c *Config) { c.History, c.Name = log, "public" }
		w.start()
		w.objects.set("web", record(t, "web", "www.shop.test", "A", "192.0.2.1"))
		waitIdle()
		w.objects.set("web", record(t, "web", "www.shop.test", "A", "192.0.2.2"))
		waitIdle()
		w.failing(fmt.Errorf("%w: no", provider.ErrRejected), inmemorytest.Apply)
		w.objects.set("web", record(t, "web", "www.shop.test", "A", "192.0.2.3"))
		waitIdle()
		w.working()
		time.Sleep(2 * firstBackoff)
		waitIdle()
		w.objects.set("web")
		waitIdle()
		var got []string
		log.Walk(history.Scope{}, time.Time{}, func(key history.Key, e history.Entry) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %d %v %v %v %s", e.Source, e.Zone, key.Name, e.Type, e.Action, e.Old, e.New, e.Objects, e.Reason)))
		})
		failed := slices.DeleteFunc(slices.Clone(got), func(line string) bool { return !strings.Contains(line, " 4 ") })
		made := slices.DeleteFunc(slices.Clone(got), func(line string) bool { return strings.Contains(line, " 4 ") })
		want := []string{
			"public shop.test www.shop.test A 1 [] [192.0.2.1] [Service/default/web]",
			"public shop.test www.shop.test A 2 [192.0.2.1] [192.0.2.2] [Service/default/web]",
			"public shop.test www.shop.test A 2 [192.0.2.2] [192.0.2.3] [Service/default/web]",
			"public shop.test www.shop.test A 3 [192.0.2.3] [] [service/default/web]",
		}
		if !slices.Equal(made, want) {
			t.Errorf("changes:\n%s\nwant\n%s", strings.Join(made, "\n"), strings.Join(want, "\n"))
		}
		if len(failed) != 1 || !strings.Contains(failed[0], "[192.0.2.2] [192.0.2.3] [Service/default/web]") || !strings.Contains(failed[0], "rejected by the provider: no") {
			t.Errorf("failures: %q", failed)
		}
	})
}
