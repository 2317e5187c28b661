package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/internal/run"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func untilDone(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestGroup(t *testing.T) {
	broken := errors.New("disk is full")
	slow := func(d time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(d)
			return nil
		}
	}
	tests := map[string]struct {
		actors []run.Actor
		want   string // of the error; empty for none
		took   time.Duration
	}{
		"no actors":         {},
		"one ends":          {actors: []run.Actor{{Name: "a", Run: func(context.Context) error { return nil }}, {Name: "b", Run: untilDone}}},
		"one fails":         {actors: []run.Actor{{Name: "a", Run: untilDone}, {Name: "b", Run: func(context.Context) error { return broken }}}, want: "b: disk is full"},
		"fails on stopping": {actors: []run.Actor{{Name: "a", Run: failAfterStop(broken)}, {Name: "b", Run: func(context.Context) error { return broken }}}, want: "a: disk is full\nb: disk is full"},
		"within grace": {
			actors: []run.Actor{{Name: "a", Run: slow(time.Second), Grace: 2 * time.Second}, {Name: "b", Run: func(context.Context) error { return nil }}},
			took:   time.Second,
		},
		"no limit": {
			actors: []run.Actor{{Name: "a", Run: slow(time.Hour)}, {Name: "b", Run: func(context.Context) error { return nil }}},
			took:   time.Hour,
		},
		"grace runs for all at once": {
			actors: []run.Actor{{Name: "a", Run: slow(5 * time.Second), Grace: 6 * time.Second}, {Name: "b", Run: slow(time.Second), Grace: 2 * time.Second}, {Name: "c", Run: func(context.Context) error { return nil }}},
			took:   5 * time.Second,
		},
		"beyond grace": {
			actors: []run.Actor{{Name: "a", Run: slow(time.Minute), Grace: 2 * time.Second}, {Name: "b", Run: func(context.Context) error { return nil }}},
			took:   2 * time.Second,
			want:   "a: stop: still busy after 2s, not waited for any longer: give it a longer grace period, or find out what it waits for:\n\tgithub.com/signpostd/signpost/internal/run_test.TestGroup.",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g run.Group
				for _, a := range tt.actors {
					g.Add(a)
				}
				start := time.Now()
				err := g.Run(t.Context())
				checkError(t, err, tt.want)
				if took := time.Since(start); took != tt.took {
					t.Errorf("Run took %v, want %v", took, tt.took)
				}
				// The synctest clock advances until the abandoned actors have ended.
				<-time.After(2 * time.Hour)
			})
		})
	}
}

func failAfterStop(err error) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		return err
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("Run: %v, want no error", err)
	case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)):
		t.Errorf("Run: %v, want %q", err, want)
	}
}

func TestGroupStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var g run.Group
	g.Add(run.Actor{Name: "a", Run: untilDone})
	g.Add(run.Actor{Name: "b", Run: func(ctx context.Context) error {
		cancel()
		return untilDone(ctx)
	}})
	if err := g.Run(ctx); err != nil {
		t.Errorf("Run: %v, want no error", err)
	}
}

func TestGroupKeepsErrors(t *testing.T) {
	broken := errors.New("broken")
	var g run.Group
	g.Add(run.Actor{Name: "a", Run: func(context.Context) error { return broken }})
	if err := g.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Run: %v does not wrap the actor's error", err)
	}
}
