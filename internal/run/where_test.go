package run_test

import (
	"context"
	"strings"
	"testing"

	"github.com/signpostd/signpost/internal/run"
)

// Goroutines are found by each of their names, together with those that they started. Others are not found.
func TestWhere(t *testing.T) {
	end, ended := make(chan struct{}), make(chan struct{}, 40)
	running := make(chan struct{}, 40)
	wait := func(context.Context) {
		running <- struct{}{}
		<-end
		ended <- struct{}{}
	}
	go run.Named(t.Context(), `work "a"`, func(ctx context.Context) {
		go run.Named(ctx, "inner", func(context.Context) { startedByInner(wait) })
		wait(ctx)
	})
	go run.Named(t.Context(), "other", wait)
	for range 3 {
		<-running
	}
	for name, want := range map[string]struct{ stacks, inner int }{
		`work "a"`: {2, 2}, "inner": {1, 2}, "other": {1, 0}, "work": {}, "none": {},
	} {
		got := run.Where(name)
		if stacks, inner := strings.Count(got, "run.Named "), strings.Count(got, "startedByInner"); stacks != want.stacks || inner != want.inner {
			t.Errorf("%s: %d stacks, %d of them inner, want %+v:\n%s", name, stacks, inner, want, got)
		}
	}
	close(end)
	for range 3 {
		<-ended
	}
}

//go:noinline
func startedByInner(wait func(context.Context)) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		wait(context.Background())
	}()
	<-over
}

// The stacks of very many different goroutines have a bounded size.
func TestWhereIsBounded(t *testing.T) {
	end, running := make(chan struct{}), make(chan struct{})
	depths := 100
	for depth := range depths {
		go run.Named(t.Context(), "many", func(context.Context) { dive(depth, running, end) })
		<-running
	}
	got := run.Where("many")
	if len(got) < 16<<10 || len(got) > 17<<10 {
		t.Errorf("the text has %d bytes, want 16 kB", len(got))
	}
	for range depths {
		end <- struct{}{}
	}
}

//go:noinline
func dive(depth int, running, end chan struct{}) {
	if depth > 0 {
		dive(depth-1, running, end)
		return
	}
	running <- struct{}{}
	<-end
}
