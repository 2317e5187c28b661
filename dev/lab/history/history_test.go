package history_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dev/lab/history"
)

// TestFile shows that a file has all recorded events, in the order of time.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	setup := history.Setup{Seed: 7, Duration: time.Minute, LeaseDuration: 15 * time.Second, Namespace: "lab", Zones: []string{"lab.example."}, Owner: "lab"}
	r, err := history.NewRecorder(setup, path)
	if err != nil {
		t.Fatal(err)
	}
	later := history.Entry{At: 2 * time.Second, Stream: &history.Stream{ID: 1, Event: history.StreamUpdated, Addresses: map[string]string{"10.0.0.1:80": "weight 1"}}}
	sooner := history.Entry{At: time.Second, Object: &history.Object{Resource: "pods", Name: "web-0", Revision: 5, Content: json.RawMessage(`{"kind":"Pod"}`)}}
	r.Record(later)
	r.Record(sooner)
	want := history.History{Setup: setup, Entries: []history.Entry{sooner, later}}
	if diff := cmp.Diff(want, r.History()); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := history.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// TestNoFile shows that an invalid file is refused.
func TestNoFile(t *testing.T) {
	if _, err := history.ReadFile(filepath.Join(t.TempDir(), "nonesuch")); err == nil {
		t.Error("a file that isn't there was read")
	}
}
