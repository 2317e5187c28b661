package houserules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/signpostd/signpost/internal/golden"
)

// ourVersion matches a version of Signpost in a page: after its name, in a command, or in output.
var ourVersion = regexp.MustCompile(`((?:signpost[-:]|VERSION=|image\.tag=|version=|tag: |"version": "))v\d+\.\d+\.\d+`)

// TestOneVersion checks that all pages, and a release, have the version appVersion of the chart. -update
// writes it to the pages.
func TestOneVersion(t *testing.T) {
	chart, err := os.ReadFile(filepath.Join(root, "deploy/helm/signpost/Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^appVersion: (v\d+\.\d+\.\d+)$`).FindSubmatch(chart)
	if found == nil {
		t.Fatal("Chart.yaml has no appVersion")
	}
	version := string(found[1])
	if want := "\nversion: " + strings.TrimPrefix(version, "v") + "\n"; !strings.Contains(string(chart), want) {
		t.Errorf("Chart.yaml lacks %q", want)
	}
	checked := 0
	for _, path := range pagesOfUsers(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checked += len(ourVersion.FindAll(text, -1))
		want := ourVersion.ReplaceAllString(string(text), "${1}"+version)
		if want == string(text) {
			continue
		}
		if !golden.Update() {
			t.Errorf("%s names another version than %s", path, version)
			continue
		}
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if checked < 15 {
		t.Errorf("%d versions were found, want 15 or more", checked)
	}
}

// pagesOfUsers returns README.md and the pages in docs.
func pagesOfUsers(t *testing.T) []string {
	t.Helper()
	pages := []string{filepath.Join(root, "README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "spec" {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
