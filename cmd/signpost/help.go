package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/signpostd/signpost/internal/flaggroup"
)

// Groups of commands in --help.
const (
	groupRoles = "roles"
	groupLook  = "look"
	groupDNS   = "dns"
	groupSetup = "setup"
)

// commandGroups returns the groups in order.
func commandGroups() []*cobra.Group {
	return []*cobra.Group{
		{ID: groupRoles, Title: "Server roles:"},
		{ID: groupLook, Title: "Inspection:"},
		{ID: groupDNS, Title: "DNS:"},
		{ID: groupSetup, Title: "Setup:"},
	}
}

// flagHeadings is the order of the headings of flags. Providers follow.
var flagHeadings = []string{"Main", "Source", "Record", "Change", "Ownership", "Request", "Controller", "Limit", "Leader election", "Process", "Cluster"}

const (
	// plainWidth is the width of help that isn't written to a terminal.
	plainWidth = 100
	// minWidth is the minimum width for wrapping.
	minWidth = 60
)

// width returns the maximum width of help for a writer.
func width(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return plainWidth
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil || columns <= 0 {
		return plainWidth
	}
	return max(columns, minWidth)
}

func usage(cmd *cobra.Command) error {
	var text strings.Builder
	text.WriteString("Usage:\n")
	if _, never := cmd.Annotations[onlyCommands]; cmd.Runnable() && !never {
		fmt.Fprintf(&text, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&text, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(&text, cmd)
	if cmd.Flags().HasAvailableFlags() {
		cmd.InitDefaultHelpFlag()
		text.WriteString(flagUsages(cmd))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStdout(), text.String())
	return err
}

// checkHelpFlag refuses --help after an unknown command. Cobra would show the help of its parent.
func checkHelpFlag(root *cobra.Command, args []string) error {
	if !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
		return nil
	}
	found, rest, err := root.Find(args)
	if err != nil {
		return nil // it is reported when the command runs
	}
	if _, only := found.Annotations[onlyCommands]; found != root && !only {
		return nil
	}
	i := slices.IndexFunc(rest, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 || rest[i] == cobra.ShellCompRequestCmd || rest[i] == cobra.ShellCompNoDescRequestCmd {
		return nil
	}
	return knownCommand(found, rest[i:])
}

// helpAll is the flag that shows all flags of a command with more than manyFlags. The --help of
// such a command shows the main ones. The flag is hidden, because --help names it where it helps.
const (
	helpAll   = "help-all"
	manyFlags = 80
)

// addHelpAll adds the flag to a command with many flags, and to those of its subcommands.
func addHelpAll(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		addHelpAll(c)
	}
	if cmd.RunE == nil || !hasManyFlags(cmd) {
		return
	}
	var showAll bool
	cmd.Flags().BoolVar(&showAll, helpAll, false, "show all flags")
	cmd.Flags().Lookup(helpAll).Hidden = true
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if showAll {
			return cmd.Help()
		}
		return run(cmd, args)
	}
}

func hasManyFlags(cmd *cobra.Command) bool {
	n := 0
	for _, g := range flaggroup.Groups(cmd.Flags(), flagHeadings...) {
		if n += g.Len(); n > manyFlags {
			return true
		}
	}
	return false
}

// flagUsages returns the flags of a command: of one with many, the main ones and those without a
// heading, and how many there are under the other headings.
func flagUsages(cmd *cobra.Command) string {
	groups := flaggroup.Groups(cmd.Flags(), flagHeadings...)
	lines := width(cmd.OutOrStdout())
	flag := cmd.Flags().Lookup(helpAll)
	if flag == nil || flag.Changed {
		return "\n" + flaggroup.Usages(groups, lines)
	}
	var shown []flaggroup.Group
	var others []string
	for _, g := range groups {
		if g.Heading == flagHeadings[0] || g.Heading == "" {
			shown = append(shown, g)
		} else {
			others = append(others, fmt.Sprintf("%s (%d)", g.Heading, g.Len()))
		}
	}
	return fmt.Sprintf("\n%s\nMore flags, which --%s shows:\n%s", flaggroup.Usages(shown, lines), helpAll, indent(others, lines))
}

// indent joins words with commas, in lines of a width with two spaces before each.
func indent(words []string, width int) string {
	var text strings.Builder
	line := " "
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if len(line)+1+len(w) > width && line != " " {
			text.WriteString(line + "\n")
			line = " "
		}
		line += " " + w
	}
	text.WriteString(line + "\n")
	return text.String()
}

// writeCommands writes the subcommands of a command by group.
func writeCommands(text *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	for _, g := range append(cmd.Groups(), &cobra.Group{Title: "Other:"}) {
		var lines strings.Builder
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				fmt.Fprintf(&lines, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
			}
		}
		if lines.Len() > 0 {
			title := g.Title
			if len(cmd.Groups()) == 0 {
				title = "Commands:"
			}
			fmt.Fprintf(text, "\n%s\n%s", title, lines.String())
		}
	}
}
