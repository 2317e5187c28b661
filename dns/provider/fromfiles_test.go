package provider

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A value is made again after a change of its files, and only then. Files that can't be used leave the
// previous value, and are reported once.
func TestFromFiles(t *testing.T) {
	path, missing := filepath.Join(t.TempDir(), "token"), filepath.Join(t.TempDir(), "missing")
	calls := 0
	var log bytes.Buffer
	f := &FromFiles[string]{
		Paths: []string{missing, path}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Make: func() (string, error) {
			calls++
			text, err := ReadFile(path, 100)
			if err == nil && len(text) == 0 {
				err = errors.New("empty")
			}
			return string(text), err
		},
	}
	for _, step := range []struct {
		write       *string
		want        string
		calls, logs int
	}{
		{nil, "", 1, 0},
		{nil, "", 2, 0},
		{new("first"), "first", 3, 0},
		{nil, "first", 3, 0},
		{new("second"), "second", 4, 1},
		{nil, "second", 4, 1},
		{new(""), "second", 5, 2},
		{nil, "second", 5, 2},
		{new("third"), "third", 6, 3},
	} {
		if step.write != nil {
			if err := os.WriteFile(path, []byte(*step.write), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := f.Get()
		if got != step.want || (err == nil) != (step.want != "") {
			t.Errorf("%q, %v, want %q", got, err, step.want)
		}
		if logs := strings.Count(log.String(), "\n"); calls != step.calls || logs != step.logs {
			t.Errorf("after %q: %s, want %s", got, fmt.Sprint(calls, " calls and messages ", logs), fmt.Sprint(step.calls, " and ", step.logs))
		}
	}
	if strings.Contains(log.String(), "second") || !strings.Contains(log.String(), "err=empty") {
		t.Errorf("the log: %s", log.String())
	}
}
