package main

import (
	"fmt"
	"io"
	"os"
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
		{ID: groupLook, Title: "Look:"},
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

// usage writes the usage of a command.
func usage(cmd *cobra.Command) error {
	var text strings.Builder
	text.WriteString("Usage:\n")
	if cmd.Runnable() {
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
		text.WriteString("\n" + flaggroup.Usages(flaggroup.Groups(cmd.Flags(), flagHeadings...), width(cmd.OutOrStdout())))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(cmd.OutOrStdout(), text.String())
	return err
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
