package inspectclient

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/testkit/inspecttest"
)

// A process that doesn't respond costs a bundle two timeouts: one for its status, and one for all its files.
func TestEverythingOfSilentProcess(t *testing.T) {
	release := make(chan struct{})
	var requests atomic.Int32
	silence := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		<-release
	})
	paths := map[string]http.Handler{}
	for _, path := range []string{"/ready", "/metrics", inspect.StatusPath, inspect.ConfigPath, inspect.StreamsPath, inspect.ServicesPath, inspect.RecordsPath, inspect.ProblemsPath} {
		paths[path] = silence
	}
	well := destination()
	well.Streams, well.Services, well.Problems = []inspect.Stream{}, []inspect.Service{}, []inspect.Problem{}
	c, notes := newClient(t, &inspecttest.Process{Paths: paths}, well)
	defer close(release)
	c.timeout = 500 * time.Millisecond
	var failed []string
	for _, f := range c.Everything(t.Context()) {
		if f.Err != nil && strings.HasPrefix(f.Name, "processes/p0/") {
			failed = append(failed, f.Name)
		}
		if f.Err != nil && slices.Contains([]string{"streams.json", "services.json", "problems.json", "processes/p1/status.json"}, f.Name) {
			t.Errorf("%s: %v", f.Name, f.Err)
		}
	}
	if got := requests.Load(); got != 5 || len(failed) != 4 {
		t.Errorf("%d requests of the silent process, want its status once and 4 files; failed: %q", got, failed)
	}
	if n := strings.Count(notes.String(), "does not respond in time"); n != 1 {
		t.Errorf("%d notes about the silent process, want 1: %s", n, notes)
	}
}
