package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/signpostd/signpost/internal/version"
)

var manDir = flag.String("man.dir", "", "directory to write the man pages to (dev/release.sh); a temporary one by default")

// TestManPages writes a man page for each command.
func TestManPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	root := newRootCommand(streams{out: os.Stdout, err: os.Stderr})
	root.DisableAutoGenTag = true
	// The date is constant, so that the same commit gives the same pages.
	date := time.Unix(0, 0).UTC()
	if err := doc.GenManTree(root, &doc.GenManHeader{Title: "SIGNPOST", Section: "1", Source: "signpost " + version.Version, Date: &date}, dir); err != nil {
		t.Fatal(err)
	}
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if !c.IsAvailableCommand() && c.HasParent() {
			return
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), ".SH SYNOPSIS") {
			t.Errorf("%s: %v, %d bytes without a synopsis", name, err, len(text))
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check(root)
}
