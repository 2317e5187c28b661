package catalog

import (
	"bytes"
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

// At debug, the log has a line for each step, with the numbers of changes and stale snapshots. At info it has
// none (S4).
func TestStepsAreLogged(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelInfo: "",
		slog.LevelDebug: `level=DEBUG msg="Objects are applied" changes=2 services=2 staleServices=0 staleWatches=0
level=DEBUG msg="Objects are applied" changes=1 services=1 staleServices=1 staleWatches=0
level=DEBUG msg="Objects are applied" changes=0 services=0 staleServices=0 staleWatches=0
`,
	} {
		var out bytes.Buffer
		c := New(Options{Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))})
		c.Put(service("web"))
		c.Put(service("db"))
		c.step()
		defer c.Service(serviceKey("web")).Release()
		c.Delete(service("web").ID())
		c.step()
		c.MarkSynced()
		c.step()
		got := regexp.MustCompile(`(?m)^time=\S+ | took=\S+`).ReplaceAllString(out.String(), "")
		if got != want {
			t.Errorf("at %v:\n%s\nwant:\n%s", level, got, want)
		}
		if level == slog.LevelDebug && strings.Count(out.String(), " took=") != 3 {
			t.Errorf("lines without a duration:\n%s", &out)
		}
	}
}
