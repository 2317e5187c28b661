package main

import (
	"io"
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
