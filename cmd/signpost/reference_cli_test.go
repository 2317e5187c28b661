package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/internal/flaggroup"
	"github.com/signpostd/signpost/internal/golden"
)

// A commandPage is a generated page with the commands of a group.
type commandPage struct{ group, file, title string }

// Pages about commands. docs/cli.md has the common parts.
const (
	commandsPage = "../../docs/cli.md"
	commandPages = "../../docs/cli/"
)

var pagesOfGroups = []commandPage{
	{group: groupRoles, file: "roles.md", title: "Commands: server roles"},
	{group: groupLook, file: "inspect.md", title: "Commands: inspection"},
	{group: groupDNS, file: "dns.md", title: "Commands: DNS"},
	{group: groupSetup, file: "setup.md", title: "Commands: setup"},
}

// TestReferenceOfCommands compares docs/cli.md and the pages in docs/cli with the commands; -update
// rewrites them.
func TestReferenceOfCommands(t *testing.T) {
	root := newRootCommand(streams{})
	for _, g := range root.Groups() {
		if !slices.ContainsFunc(pagesOfGroups, func(p commandPage) bool { return p.group == g.ID }) {
			t.Errorf("no page has the commands of the group %q: add it to pagesOfGroups", g.Title)
		}
	}
	golden.Part(t, commandsPage, "commands", commandIndex(root))
	status, _, err := root.Find([]string{"status"})
	if err != nil {
		t.Fatal(err)
	}
	golden.Part(t, commandsPage, "flags that find processes", describeQueryFlags(status))
	for _, p := range pagesOfGroups {
		p.compare(t, root)
	}
}

// commandIndex lists all commands with their pages.
func commandIndex(root *cobra.Command) string {
	rows := [][]string{{"Command", "What it does"}}
	for _, p := range pagesOfGroups {
		for _, c := range p.commands(root) {
			link := fmt.Sprintf("[`%s`](cli/%s#%s)", c.CommandPath(), p.file, strings.ReplaceAll(c.CommandPath(), " ", "-"))
			rows = append(rows, []string{link, c.Short})
		}
	}
	return golden.Table(rows)
}

func (p commandPage) commands(root *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool { return c.GroupID != p.group || !c.IsAvailableCommand() })
}

func (p commandPage) compare(t *testing.T, root *cobra.Command) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\n<!-- This file is generated: go test ./cmd/signpost -run TestReferenceOfCommands -update -->\n\n", p.title)
	text.WriteString("[Commands](../cli.md) has what all commands have in common: how they find processes, output formats and exit codes.\n")
	for _, c := range p.commands(root) {
		describeCommand(&text, c)
	}
	golden.File(t, commandPages+p.file, text.String())
}

func describeCommand(text *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(text, "\n## %s\n\n```\n%s\n```\n\n```\n%s\n```\n", c.CommandPath(), c.UseLine(), strings.TrimSpace(cmp.Or(c.Long, c.Short)))
	if c.HasExample() {
		fmt.Fprintf(text, "\n```\n%s\n```\n", outdented(c.Example))
	}
	if of, elsewhere := flagsElsewhere[c.Name()]; elsewhere {
		fmt.Fprintf(text, "\nFlags: %s\n", of)
	} else {
		describeFlagsOf(text, c)
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			describeCommand(text, sub)
		}
	}
}

// flagsElsewhere are commands whose flags are on another page.
var flagsElsewhere = map[string]string{
	"dns":  "[flags](../dns/flags.md).",
	"plan": "those of [signpost dns](../dns/flags.md), and `--config` (a config file whose publishers to show), `--filename` (`-f`, manifests to read instead of a cluster), `--zone-file` (a master file to read instead of the provider's zone), `--output` (`-o`).",
	"rbac": "those of [signpost dns](../dns/flags.md), and `--config` (a config file with the publishers), `--service-account` (whose rights they are).",
}

func outdented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// describeFlagsOf writes a table of a command's flags. The flags that all clients have are in one section.
func describeFlagsOf(text *strings.Builder, c *cobra.Command) {
	groups := flaggroup.Groups(c.LocalFlags(), flagHeadings...)
	if c.Parent() != nil && c.Parent().HasParent() && strings.HasPrefix(c.CommandPath(), "signpost check ") {
		return // the same flags as for the role, or for check
	}
	asks := c.Flags().Lookup("signpost-namespace") != nil
	var rows []string
	for _, g := range groups {
		if asks && slices.Contains(queryHeadings, g.Heading) {
			continue
		}
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				rows = append(rows, flagRow(f))
			}
		})
	}
	writeRows(text, rows)
	if asks {
		text.WriteString("\nAnd the [flags that find processes](../cli.md#flags-that-find-processes).\n")
	}
}

func writeRows(text *strings.Builder, rows []string) {
	if len(rows) > 0 {
		fmt.Fprintf(text, "\n| Flag | Default | What it is |\n| --- | --- | --- |\n%s", strings.Join(rows, ""))
	}
}

// queryHeadings are the headings of the flags of all commands that query processes.
var queryHeadings = []string{"Process", "Cluster"}

// describeQueryFlags returns the table of these flags.
func describeQueryFlags(c *cobra.Command) string {
	var rows []string
	for _, g := range flaggroup.Groups(c.Flags(), queryHeadings...) {
		if slices.Contains(queryHeadings, g.Heading) {
			g.Flags.VisitAll(func(f *pflag.Flag) { rows = append(rows, flagRow(f)) })
		}
	}
	var text strings.Builder
	writeRows(&text, rows)
	return strings.TrimPrefix(text.String(), "\n")
}

func flagRow(f *pflag.Flag) string {
	name, usage := pflag.UnquoteUsage(f)
	flag := "--" + f.Name
	if f.Shorthand != "" {
		flag = "-" + f.Shorthand + ", " + flag
	}
	if name != "" && f.Value.Type() != "bool" {
		flag += " " + name
	}
	value := ""
	if zero := []string{"", "false", "0", "[]", "0s"}; !slices.Contains(zero, f.DefValue) {
		value = "`" + f.DefValue + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s |\n", flag, value, strings.ReplaceAll(strings.ReplaceAll(usage, "|", `\|`), "<", "&lt;"))
}
