package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestExamples shows that the commands in help texts have flags and arguments that exist, without
// ellipses, and that each command that runs something has an example.
func TestExamples(t *testing.T) {
	without := []string{"signpost", "signpost config", "signpost version", "signpost help"}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if !c.HasExample() && !slices.Contains(without, c.CommandPath()) {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.Lines(c.Example + "\n" + c.Long) {
			if strings.HasPrefix(line, "  ") {
				checkExample(t, line)
			}
		}
	}
	visit(newRootCommand(streams{out: io.Discard, err: io.Discard}))
}

// checkExample parses the commands of signpost in a line with pipes.
func checkExample(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " > ")
	for part := range strings.SplitSeq(line, " | ") {
		words := strings.Fields(strings.ReplaceAll(part, "'", ""))
		if len(words) == 0 || words[0] != "signpost" {
			continue
		}
		root := newRootCommand(streams{out: io.Discard, err: io.Discard})
		cmd, args, err := root.Find(dropInArgs(root, words[1:]))
		if err != nil {
			t.Errorf("%s: %v", part, err)
			continue
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Errorf("%s: %v", part, err)
			continue
		}
		if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// docCommand matches a command of signpost in a page: in a block or in the text.
var docCommand = regexp.MustCompile("(?m)(?:`|^ *|\\| )(?:bin/)?signpost ([a-z][^`|\n]*)")

// futureCommands are those that a page lists as not implemented.
var futureCommands = []string{"xds get --delta"}

// TestCommandsInDocs shows that each command of signpost on a page exists, with all its flags.
func TestCommandsInDocs(t *testing.T) {
	root := newRootCommand(streams{out: io.Discard, err: io.Discard})
	initCompletion(root, streams{out: io.Discard, err: io.Discard})
	checked := 0
	check := func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range docCommand.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(futureCommands, found[1]) {
				checkDocCommand(t, root, path, found[1])
			}
			checked++
		}
		return err
	}
	if err := errors.Join(filepath.WalkDir("../../docs", check), check("../../README.md", nil, nil)); err != nil || checked < 200 {
		t.Errorf("%d commands were found, want 200 or more: %v", checked, err)
	}
}

// checkDocCommand checks the name of a command and its flags, which have a parameter or an ellipsis
// on a page.
func checkDocCommand(t *testing.T, root *cobra.Command, path, command string) {
	t.Helper()
	cmd, _, err := root.Find(strings.Fields(command))
	if err != nil || cmd == root {
		t.Errorf("%s: signpost %s: there is no such command: %v", path, command, err)
		return
	}
	for word := range strings.FieldsSeq(command) {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		name = regexp.MustCompile(`^[a-z0-9-]*`).FindString(name)
		if isFlag && name != "" && name != "help" && cmd.Flags().Lookup(name) == nil && cmd.Flags().Lookup(strings.TrimPrefix(name, "no-")) == nil {
			t.Errorf("%s: signpost %s has no flag --%s", path, command, name)
		}
	}
}
