package process

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/internal/inspect"
	"github.com/signpostd/signpost/internal/run"
)

// fetchAs gets a path of the inspection API as a value.
func fetchAs[A any](t *testing.T, s served, path string) A {
	t.Helper()
	code, body := s.fetch(t, path)
	var a A
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil || code != http.StatusOK {
		t.Fatalf("%s: %d %s: %v", path, code, body, err)
	}
	return a
}

// The status has what the roles say, and /ready says the same.
func TestStatus(t *testing.T) {
	none := func(<-chan struct{}) []run.Actor { return nil }
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p, err := joinRoles(roleInput{}, []role{
		{Name: "destination", Actors: none, Details: func() []string { return []string{"waiting for links"} }, Ready: func() bool { return false }},
		{Name: "destination", Actors: none},
		{Name: "dns", Actors: none, Leading: func() inspect.Leading {
			return inspect.Leading{Role: "dns", Lease: "a/b", Leader: "other", Since: &since}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Actors = append(p.Actors, waiting())
	s := serve(t, p, nil)
	status := fetchAs[inspect.Status](t, s, inspect.StatusPath)
	if strings.Join(status.Roles, " ") != "destination dns" || status.Ready || len(status.Details) != 1 || len(status.Leading) != 1 || status.Leading[0].Leader != "other" || status.Process == "" {
		t.Errorf("%+v", status)
	}
	if code, body := s.fetch(t, "/ready"); code != 500 || body != "not ready\n"+status.Details[0]+"\n" {
		t.Errorf("/ready: %d %q", code, body)
	}
	s.stop(t)
}

// waiting is an actor that does nothing.
func waiting() run.Actor {
	return run.Actor{Name: "waiting", Run: waitForEnd}
}

func waitForEnd(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
